"""What Muster does instead of each key of Slurm's that is not turned into one of its own."""

# Done by every Muster, or without a meaning there: listed as "not needed".
ALWAYS = {
    "is found out by the workers": """
        node:cpus node:procs node:sockets node:boards node:socketsperboard node:corespersocket
        node:threadspercore node:realmemory node:tmpdisk node:port node:nodeaddr node:nodehostname
        node:bcastaddr gres:file gres:cores gres:count gres:autodetect gres:links gres:multiplefiles
        gres:name gres:nodename gres:type gres:cpus""",
    "is Muster's own: see the administration guide": """
        controlmachine controladdr slurmctldhost slurmctldport slurmdport slurmctldpidfile
        slurmdpidfile slurmuser slurmduser statesavelocation slurmdspooldir slurmctldlogfile
        slurmdlogfile slurmctlddebug slurmddebug slurmctldsyslogdebug slurmdsyslogdebug debugflags
        logtimeformat plugindir authtype authinfo authalttypes authaltparameters credtype cryptotype
        messagetimeout tcptimeout eiotimeout communicationparameters slurmctldtimeout treewidth
        slurmschedlogfile slurmschedloglevel slurmctldparameters slurmdparameters minjobage
        accountingstoragetype accountingstoragehost accountingstorageport accountingstorageuser
        accountingstoragepass accountingstoragebackuphost accountingstorageexternalhost
        accountingstorageloc accountingstoragetres accountingstoreflags accountingstorejobcomment
        accountingstorageparameters jobcomptype jobcomphost jobcomploc jobcomppass jobcompport
        jobcompuser jobcompparams clustername maxjobid firstjobid launchparameters launchtype
        srunportrange maxdbdmsgs""",
    "is always so: every job lives in its cgroups, with its own GPUs and CPUs only": """
        proctracktype taskplugin taskpluginparam jobacctgathertype jobacctgatherfrequency
        jobacctgatherparams acctgatherenergytype acctgathernodefreq selecttype selecttypeparameters
        grestypes constraindevices switchtype mpidefault mpiparams jobcontainertype""",
    "is always so: jobs are planned and backfilled by shape (planned_starts of a queue)": """
        schedulertype schedulertimeslice fastschedule prioritycalcperiod enforcepartlimits
        completewait inactivelimit killonbadexit""",
    "says what a node's state was; in Muster it is what its worker says": """
        node:state node:reason downnodes returntoservice slurmdtimeout""",
    "is so wherever topology.conf names switches, which became [[switch]]": "topologyplugin",
    "is always so: jobs need an account that lists their user": "accountingstorageenforce",
    "has its default in Muster, too": "part:hidden part:alternate part:maxtime part:nodes",
}

# Without an equal: what to do instead.
INSTEAD = {
    "topologyparam": "gangs get the fewest switches; jobs wish for more with --topology",
    "topologyoptional": "gangs get the fewest switches; jobs wish for more with --topology",
    "prologslurmctld": "no program runs at a job's start; begin the job's script with it",
    "epilogslurmctld": "no program runs at a job's end; let a site's service watch gpuqueue --json",
    "prolog": "no program runs at a job's start; begin the job's script with it",
    "epilog": "no program runs at a job's end; end the job's script with it",
    "taskprolog": "no program runs before a task; begin the job's script with it",
    "taskepilog": "no program runs after a task; end the job's script with it",
    "srunprolog": "no program runs before a step; begin the job's script with it",
    "srunepilog": "no program runs after a step; end the job's script with it",
    "jobsubmitplugins": "write a program for [submit_policy] that does the same",
    "clifilterplugins": "Muster has no plugins in commands; wrap gpusubmit",
    "healthcheckprogram": "let your checks drain bad nodes: gpuadmin node drain",
    "healthcheckinterval": "goes with HealthCheckProgram",
    "healthchecknodestate": "goes with HealthCheckProgram",
    "preempttype": "of QOS: give --qos FILE; of partitions: name those that stop: preempts",
    "preemptmode": "preempt_mode of the victims' [[queue]]: requeue or cancel",
    "preemptexempttime": "preempt_after of the victims' [[queue]] or [[qos]]",
    "priorityweightpartition": "priority of a queue comes before all points: set it there",
    "priorityweightqos": "give --qos FILE: it becomes points of each QOS",
    "priorityweightassoc": "accounts have shares and no priority: raise shares",
    "priorityweighttres": "use size of [priority], which counts GPUs",
    "priorityfavorsmall": "Muster's size favours wide jobs only; it was left at 0",
    "priorityusageresetperiod": "usage only decays (half_life)",
    "priorityflags": "fair share is always by the tree; other flags have no equal",
    "prioritysitefactorplugin": "let a program of an operator's set priorities by gpujob set",
    "prioritysitefactorparameters": "goes with PrioritySiteFactorPlugin",
    "priorityparameters": "goes with PrioritySiteFactorPlugin",
    "schedulerparameters": "Muster's scheduler has none of these; planned_starts is per queue",
    "suspendprogram": "Muster switches no nodes off; drain them first when you do",
    "resumeprogram": "Muster switches no nodes on",
    "suspendtime": "Muster switches no nodes off",
    "rebootprogram": "drain the node, restart it, resume it: gpuadmin node drain",
    "jobrequeue": "retries_max of a queue bounds retries after faults that were not the job's own",
    "requeueexit": "a job says itself when it wants to run again",
    "requeueexithold": "a job says itself when it wants to run again",
    "mailprog": "Muster sends no mail; watch gpuqueue --json",
    "maildomain": "Muster sends no mail",
    "defmempercpu": "without --mem a job gets its share of the node's memory",
    "defmempernode": "without --mem a job gets its share of the node's memory",
    "defmempergpu": "without --mem a job gets its share of the node's memory",
    "defcpupergpu": "put --cpus-per-gpu into job scripts: without it there is one CPU for each GPU",
    "maxmempercpu": "memory is bounded by the node only",
    "maxmempernode": "memory is bounded by the node only",
    "overtimelimit": "a job ends at its limit; give the queue a longer time_max",
    "waittime": "there is no such wait; the end of a rank ends its job when it failed",
    "usepam": "no pam_slurm: keep users off nodes by sshd's own rules",
    "privatedata": "there is no setting for what users see of others",
    "frontendname": "Muster has no front ends: every node runs a worker",
    "unkillablestepprogram": "no program runs then; drain the node",
    "trackwckey": "there are no workload keys; use accounts or job names",
    "federationparameters": "one controller, one cluster",
    "part:allowgroups": "Muster has accounts, not groups, in a queue: use accounts",
    "part:denygroups": "Muster has accounts, not groups, in a queue: use accounts",
    "part:allowqos": "a QOS is for accounts, not for queues: see accounts of [[qos]]",
    "part:denyqos": "a QOS is for accounts, not for queues: see accounts of [[qos]]",
    "part:gracetime": "kill_wait is the time from SIGTERM to SIGKILL",
    "part:preemptmode": "preempt_mode of the [[queue]]: requeue or cancel",
    "part:priorityjobfactor": "set priority of the queue: it comes before all points",
    "part:oversubscribe": "a job has nodes for itself when it asks: gpusubmit --exclusive",
    "part:maxnodes": "Muster bounds no job's nodes by queue; nodes of the queue do",
    "part:minnodes": "Muster asks no least number of nodes",
    "part:maxcpuspernode": "a job without GPUs may take all CPUs of a node",
    "part:defmempercpu": "without --mem a job gets its share of the node's memory",
    "part:defmempernode": "without --mem a job gets its share of the node's memory",
    "part:maxmempercpu": "memory is bounded by the node only",
    "part:maxmempernode": "memory is bounded by the node only",
    "part:rootonly": "give the queue an account for administrators only",
    "part:reqresv": "Muster has no reservations",
    "part:lln": "Muster packs jobs so that wide ones fit",
    "part:exclusiveuser": "nodes are shared by users; GPUs never",
    "part:overtimelimit": "a job ends at its limit; give the queue a longer time_max",
    "part:allocnodes": "jobs come through the gateways of the configuration only",
    "part:jobdefaults": "use options of gpusubmit in scripts",
    "part:suspendtime": "Muster switches no nodes off",
    "part:powerdownonidle": "Muster switches no nodes off",
    "part:cpubind": "bind in the job's script: taskset, numactl",
    "node:weight": "Muster chooses the nodes that leave the cluster most usable, by itself",
    "node:cpuspeclist": "set cpus_reserved of worker.toml: how many, not which",
    "gres:flags": "Muster needs none of these for GPUs",
    "account:fairshare": "shares of an account are 1 to 1000000",
    "account:grptresmins": "use over time is not limited; shares and half_life weigh it",
    "user:grptresmins": "use over time is not limited; shares and half_life weigh it",
    "account:qos": "give --qos FILE: QOS become [[qos]] with the accounts that list them",
    "account:defaultqos": "jobs have no QOS that they do not ask for: gpusubmit --qos",
    "user:fairshare": "within an account its users compete equally; give an account of its own",
    "user:qos": "give --qos FILE: QOS become [[qos]] with the accounts that list them",
    "user:defaultqos": "jobs have no QOS that they do not ask for: gpusubmit --qos",
    "user:coordinator": "accounts have no coordinators; operators ([roles]) may act for everybody",
    "user:partition": "a user has an account in all queues; use accounts of a queue",
    "user:wckeys": "there are no workload keys; use accounts or job names",
    "user:defaultwckey": "there are no workload keys; use accounts or job names",
}
LIMIT = "there is no such limit; there are limits and user_limits of jobs, GPUs, CPUs and nodes"
# Keys of a dump that say nothing that Muster would act upon.
DESCRIPTIONS = ("description", "organization", "adminlevel", "defaultaccount", "comment")


def known_always():
    return {key: text for text, keys in ALWAYS.items() for key in keys.split()}


def instead_of(key, prefix=""):
    """(needed, text): what happens to a key that was not turned into one of Muster's."""
    full = f"{prefix}:{key}" if prefix else key
    always = known_always()
    if full in always:
        return False, always[full]
    if full in INSTEAD:
        return True, INSTEAD[full]
    if prefix in ("account", "user", "cluster") and key.startswith(("grp", "max", "min", "prio")):
        return True, LIMIT
    if prefix in ("account", "user", "cluster"):
        return True, INSTEAD.get(f"user:{key}", "is not known to this program: read Slurm's manual")
    return True, "is not known to this program: read what it does in Slurm's manual"
