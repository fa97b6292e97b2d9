"""Turns a Site and a Tree into Muster's configuration, and says in the report what it could not."""
from import_slurm import objects
from import_slurm.accounts import SHARES_OF_PARENT, Tree
from import_slurm.advice import DESCRIPTIONS, instead_of
from import_slurm.cluster import take_licences, take_switches
from import_slurm.report import Report
from import_slurm.toml_text import Document
from import_slurm.values import UNLIMITED, compressed, count_of, duration, gres_of, is_name
from import_slurm.values import DAYS_MAX, seconds_of
from import_slurm.site import nodes_of

ELEMENTS_MAX = 1000000
JOBS_MAX = 10000000
WEIGHT_MAX = 1000000
SHARES_MAX = 1000000
KILL_WAIT = 30  # Seconds, in Slurm and in Muster.
NOBODY = "root"  # A user who owns no jobs; an empty list would be everybody.


class Conversion:
    """One import: read the attributes `document`, `report` and `workers` after run()."""

    def __init__(self, site, tree, qos, usage, sources):
        self.site, self.tree, self.usage = site, tree or Tree(), usage
        self.has_tree = tree is not None
        self.qos = qos or {}
        self.report = Report()
        self.document = Document(sources)
        self.workers = []  # (host list, cpus_reserved, memory_reserved MiB, features)
        self.taken = set()  # "setting", "part:key" or "node:key" that became ours.

    def run(self):
        self.take_cluster()
        self.take_queues()
        self.take_accounts()
        objects.take_users(self)
        objects.take_qos(self)
        self.take_limits()
        self.take_priority()
        self.take_nodes()
        take_licences(self.site, self.document, self.report)
        take_switches(self.site, self.document, self.report)
        self.taken.add("licenses")
        self.list_the_rest()
        self.count()

    def take_cluster(self):
        self.taken.add("clustername")
        name = self.site.setting("clustername") or self.tree.cluster or "cluster"
        if not is_name(name):
            pair, place = self.site.settings["clustername"]
            self.report.differs(place, f"ClusterName={pair.value}", "was named 'cluster'")
            name = "cluster"
        if self.has_tree and self.tree.cluster.lower() != name.lower():
            text = f"slurm.conf has the cluster {name}: is the dump of another one?"
            self.report.differs(self.tree.place, f"Cluster {self.tree.cluster}", text)
        root = self.document.root
        root.put("cluster", name)
        root.put("state_dir", "/var/lib/muster")

    # Queues.

    def take_queues(self):
        parts = list(self.site.partitions.values())
        tiers = {part.text("prioritytier", "1") for part in parts}
        default = ""
        for part in parts:
            if not is_name(part.name):
                self.report.no_equal(part.place, part.name, "is no name for a queue: left out")
                continue
            table = self.document.table("queue", f"{part.place}: partition {part.name}")
            table.put("name", part.name)
            if len(tiers) > 1:
                table.put("priority", min(count_of(part.text("prioritytier", "1")), WEIGHT_MAX))
            self.put_times(table, part)
            names = nodes_of(self.site, part)
            if names and set(names) != set(self.site.nodes):
                table.put("nodes", compressed(names))
            self.put_state(table, part, self.accounts_of(part, table), names)
            self.put_kill_wait(table)
            objects.put_partition_qos(self, part, table)
            if part.text("default").lower() == "yes":
                default = part.name
        if default:
            self.document.root.put("queue_default", default)
        self.taken |= {"killwait"} | {
            f"part:{key}"
            for key in """default maxtime defaulttime nodes state allowaccounts denyaccounts
            prioritytier disablerootjobs tresbillingweights qos""".split()
        }

    def put_times(self, table, part):
        longest = seconds_of(part.text("maxtime", "UNLIMITED"))
        usual = part.text("defaulttime", "NONE")
        usual = UNLIMITED if usual.upper() == "NONE" else seconds_of(usual)
        where = part.keys.get("maxtime")
        what = f"partition {part.name}, MaxTime={where.value if where else 'UNLIMITED'}"
        if longest > DAYS_MAX * 86400:
            self.report.differs(part.place, what, f"became {DAYS_MAX}d, the longest limit")
        if 0 < usual and (longest == UNLIMITED or usual < longest):
            table.put("time_default", duration(usual))
        if longest not in (UNLIMITED, 0):
            table.put("time_max", duration(longest))
        elif usual <= 0:
            table.put("time_max", "365d")
            text = "a queue needs a limit: 365d; choose a shorter one, or a time_default"
            self.report.differs(part.place, what, text)

    def accounts_of(self, part, table):
        """The accounts a queue is for; None: all. Slurm ignores those that do not exist."""
        for key, pair in part.keys.items():
            if key not in ("allowaccounts", "denyaccounts") or pair.value.upper() == "ALL":
                continue
            named = [name.strip().lower() for name in pair.value.split(",") if name.strip()]
            known = [name for name in named if name in self.tree.accounts]
            what = f"partition {part.name}, {pair.key}={pair.value}"
            if not self.has_tree:
                self.report.no_equal(part.place, what, "needs the accounts: give --dump FILE")
                return []
            for name in [name for name in named if name not in known and name != "root"]:
                self.report.differs(part.place, what, f"the dump has no account {name}: left out")
            if key == "denyaccounts":
                known = [name for name in self.tree.accounts if name not in known]
                if "allowaccounts" in part.keys:
                    continue  # Slurm looks at AllowAccounts only.
                text = "became the list of all other accounts: add new accounts to it"
                self.report.differs(part.place, what, text)
            if known:
                table.put("accounts", known)
            return known
        return None

    def put_state(self, table, part, accounts, names):
        state = part.text("state", "UP").upper()
        if state != "UP":
            table.put("open", False)
            if state == "DOWN" or state == "INACTIVE":
                text = "became open = false: what waits in it may still start"
                self.report.differs(part.place, f"partition {part.name}, State={state}", text)
        elif accounts == [] or not names:
            table.put("open", False)
            text = "was closed: nobody, or no node, is left for it; an empty list would mean all"
            self.report.differs(part.place, f"partition {part.name}", text)
        if part.text("disablerootjobs", self.site.setting("disablerootjobs")).lower() == "no":
            text = "not taken over: root owns no jobs; set allow_root_jobs to change it"
            self.report.differs(part.place, f"partition {part.name}, DisableRootJobs=NO", text)

    def put_kill_wait(self, table):
        wait = count_of(self.site.setting("killwait", str(KILL_WAIT)))
        if wait != KILL_WAIT:
            table.put("kill_wait", duration(wait))

    # Accounts.

    def take_accounts(self):
        for account in self.tree.accounts.values():
            if not is_name(account.name):
                text = "is no name for an account: left out, and those below it"
                self.report.no_equal(account.place, account.name, text)
                continue
            if account.parent and account.parent not in self.document.account_names:
                self.report.no_equal(account.place, account.name, "its parent was left out")
                continue
            self.document.account_names.append(account.name)
            table = self.document.table("account", f"{account.place}")
            table.put("name", account.name)
            if account.parent:
                table.put("parent", account.parent)
            self.put_users(table, account)
            self.put_shares(table, account)
            taken = objects.take_account_limits(self, account, table)
            self.list_options(account.place, "account", account, taken)
        self.take_roles()
        self.check_defaults()
        if self.has_tree:
            self.list_options(self.tree.place, "cluster", self.tree)
        else:
            text = "no --dump: one account, 'default', for everybody"
            self.report.no_equal("accounts", "sacctmgr dump", text)

    def put_users(self, table, account):
        names = sorted(account.users)
        if not names:
            text = f'has no users of its own; users = ["{NOBODY}"] keeps it so, empty is everybody'
            self.report.differs(account.place, f"account {account.name}", text)
        table.put("users", names or [NOBODY])
        for users in account.users.values():
            for user in users:
                taken = objects.scopes_of(user.options)[1]  # See objects.take_users().
                self.list_options(user.place, "user", user, taken)

    def put_shares(self, table, account):
        shares = int(account.options.get("fairshare", ("", "1"))[1].replace("parent", "2147483647"))
        what = f"account {account.name}, Fairshare={shares}"
        if shares == SHARES_OF_PARENT:
            text = (
                "its users compete within the account, not beside its siblings (Fairshare=parent)"
            )
            self.report.no_equal(account.place, f"account {account.name}", text)
        elif not 1 <= shares <= SHARES_MAX:
            self.report.differs(account.place, what, f"shares are 1 to {SHARES_MAX}: the nearest")
            table.put("shares", min(max(shares, 1), SHARES_MAX))
        elif shares != 1:
            table.put("shares", shares)

    def list_options(self, place, kind, holder, taken=()):
        for key, (written, value) in holder.options.items():
            is_plain = key == "fairshare" and (kind != "user" or value == "1")
            is_known = key == "qos" and set(objects.qos_lists(holder.options)) <= {
                "normal",
                *self.qos,
            }
            if key in DESCRIPTIONS or key in taken or is_plain or is_known:
                continue
            name = getattr(holder, "name", self.tree.cluster)
            if key == "fairshare" and value == str(SHARES_OF_PARENT):
                value = "parent"
            self.report.no_equal(
                place, f"{kind} {name}, {written}={value}", instead_of(key, kind)[1]
            )

    def all_users(self):
        for user in self.tree.root_users:
            yield "root", user
        for account in self.tree.accounts.values():
            for users in account.users.values():
                for user in users:
                    yield account.name, user

    def take_roles(self):
        levels = {"administrator": {}, "operator": {}}
        for _, user in self.all_users():
            level = user.options.get("adminlevel", ("", ""))[1].lower()
            if level in levels:
                levels[level].setdefault(user.name)
        for account, user in self.all_users():
            if account == "root" and user.name != "root":
                text = "has the root account, which does not exist: give it another"
                self.report.no_equal(user.place, f"user {user.name}", text)
        roles = self.document.section("roles")
        roles.put("admins", list(levels["administrator"]) or ["root"])
        if levels["operator"]:
            roles.put("operators", list(levels["operator"]))

    def check_defaults(self):
        """Muster charges who names no account to the first one that lists the user."""
        first = {}
        for account in self.tree.accounts.values():
            for name in account.users:
                first.setdefault(name, account.name)
        seen = set()
        for _, user in self.all_users():
            wanted = user.options.get("defaultaccount", ("", ""))[1]
            charged = first.get(user.name, wanted)
            if wanted and wanted != charged and user.name not in seen:
                seen.add(user.name)
                text = (
                    f"without --account, jobs are charged to {charged}, the first that lists them"
                )
                self.report.differs(user.place, f"user {user.name}, DefaultAccount={wanted}", text)

    # Settings.

    def take_limits(self):
        limits = self.document.section("limits")
        self.taken |= {"maxjobcount", "maxarraysize"}
        for key, ours, most in (
            ("maxjobcount", "jobs_max", JOBS_MAX),
            ("maxarraysize", "array_elements_max", ELEMENTS_MAX),
        ):
            if key in self.site.settings:
                pair, place = self.site.settings[key]
                count = count_of(pair.value)
                limits.put(ours, min(max(count, 1), most))
                if not 1 <= count <= most:
                    text = f"{ours} is 1 to {most}: the nearest"
                    self.report.differs(place, f"{pair.key}={pair.value}", text)

    def take_priority(self):
        priority = self.document.section("priority")
        weights = {
            ours: count_of(self.site.setting("priorityweight" + theirs, "0"))
            for ours, theirs in (("fair_share", "fairshare"), ("age", "age"), ("size", "jobsize"))
        }
        kind = self.site.setting("prioritytype") or (
            "priority/multifactor" if any(weights.values()) else "priority/basic"
        )
        if kind.lower() != "priority/multifactor":
            weights = dict.fromkeys(weights, 0)  # Who came first.
        if self.site.setting("priorityfavorsmall").lower() == "yes":
            weights["size"] = 0
        largest = max(weights.values())
        if largest > WEIGHT_MAX:
            weights = {ours: value * WEIGHT_MAX // largest for ours, value in weights.items()}
            text = f"weights are at most {WEIGHT_MAX}: all were made smaller alike"
            self.report.differs(self.place_of_weight(largest), "PriorityWeight*", text)
        for ours, value in weights.items():
            priority.put(ours, value)
        self.put_span(priority, "prioritymaxage", "age_max")
        self.put_span(priority, "prioritydecayhalflife", "half_life")
        self.take_billing(priority)
        self.taken |= {
            "prioritytype",
            "priorityweightfairshare",
            "priorityweightqos" if self.qos else "",
            "priorityweightage",
            "priorityweightjobsize",
            "prioritymaxage",
            "prioritydecayhalflife",
        }

    def place_of_weight(self, value):
        keys = ("priorityweightfairshare", "priorityweightage", "priorityweightjobsize")
        found = [self.site.settings[key] for key in keys if key in self.site.settings]
        return next(place for pair, place in found if count_of(pair.value) == value)

    def put_span(self, priority, key, ours):
        if key not in self.site.settings:
            return
        pair, place = self.site.settings[key]
        seconds = seconds_of(pair.value)
        if key == "prioritydecayhalflife" and seconds in (0, UNLIMITED):
            text = f"usage always decays: {ours} became {DAYS_MAX}d"
            self.report.differs(place, f"{pair.key}={pair.value}", text)
            seconds = DAYS_MAX * 86400
        elif seconds == UNLIMITED:
            seconds = DAYS_MAX * 86400
        elif seconds < 3600:
            self.report.differs(place, f"{pair.key}={pair.value}", f"{ours} is 1h at least: 1h")
            seconds = 3600
        priority.put(ours, duration(seconds))

    def billing_told(self):
        """{TRESBillingWeights as written: the first partition that says so}."""
        told = {}
        for part in self.site.partitions.values():
            if "tresbillingweights" in part.keys:
                told.setdefault(part.text("tresbillingweights"), part)
        return told

    def take_billing(self, priority):
        """TRESBillingWeights: what a CPU and each type of GPU count for, where partitions agree."""
        told = self.billing_told()
        if not told:
            return
        written, part = next(iter(told.items()))
        what = f"partition {part.name}, TRESBillingWeights={written}"
        weights = billing_of(written)
        gpus = {key: value for key, value in weights.items() if key.startswith("gres/gpu:")}
        largest = max(gpus.values(), default=0) or weights.get("gres/gpu", 0)
        if len(told) > 1 or largest <= 0:
            text = "gpu_weight and cpu_milli hold for all queues and relate to a GPU: set them"
            self.report.no_equal(part.place, what, text)
            return
        milli = min(round(weights.get("cpu", 0) * 1000 / largest), 1000)
        priority.put("cpu_milli", milli)
        for key, value in sorted(gpus.items()):
            table = self.document.table("gpu_weight", str(part.place))
            table.put("type", key[len("gres/gpu:") :])
            table.put("milli", round(value * 1000 / largest))
        text = "became gpu_weight and cpu_milli, relative to the dearest GPU; memory counts nothing"
        self.report.differs(part.place, what, text)

    # Nodes.

    def take_nodes(self):
        alike = {}
        for node in self.site.nodes.values():
            threads = count_of(node.text("threadspercore", "1"))
            cpus = count_of(node.text("corespeccount", "0")) * threads
            memory = count_of(node.text("memspeclimit", "0"))
            words = [word for word in node.text("features").split(",") if word]
            features = tuple(word for word in words if is_name(word))
            for word in words:
                if not is_name(word):
                    self.report.no_equal(node.place, f"Features={word}", "is no name for a feature")
            if cpus or memory or features:
                alike.setdefault((cpus, memory, features), []).append(node.name)
        for (cpus, memory, features), names in alike.items():
            self.workers.append((",".join(compressed(names)), cpus, memory, features))
        self.taken |= {
            f"node:{key}" for key in "feature features corespeccount memspeclimit".split()
        }
        self.list_gres()

    def list_gres(self):
        told = set()
        for node in self.site.nodes.values():
            for gres in gres_of(node.text("gres")):
                if gres.name != "gpu" and (node.place, gres.name) not in told:
                    told.add((node.place, gres.name))
                    parts_of_gpus = gres.name in ("mps", "shard")
                    text = "gpusubmit asks for whole GPUs only"
                    other = "Muster knows GPUs only; say it by a feature of the node"
                    self.report.no_equal(
                        node.place, f"Gres={gres.name}", text if parts_of_gpus else other
                    )
        self.taken.add("node:gres")

    # What is left.

    def list_the_rest(self):
        site = self.site
        settings = [(place, pair, "") for pair, place in site.settings.values()]
        parts = [(place, pair, "part") for place, pair in site.partition_keys]
        nodes = [(place, pair, "node") for place, pair in site.node_keys]
        gres = [(place, pair, "gres") for place, pair in site.gres_keys]
        for place, pair, prefix in settings + parts + nodes + gres:
            if (f"{prefix}:{pair.name}" if prefix else pair.name) in self.taken:
                continue
            if pair.name.startswith("priorityweight") and pair.value == "0":
                continue
            needed, text = instead_of(pair.name, prefix)
            add = self.report.no_equal if needed else self.report.not_needed
            add(place, f"{pair.key}={pair.value}" if needed else pair.key, text)

    def gpus_of(self, node):
        """{type: count}; the type is of gres.conf where slurm.conf has none."""
        found = {}
        for gres in gres_of(node.text("gres")):
            if gres.name == "gpu":
                typed = self.site.gpus_typed.get(node.name) or self.site.gpus_typed.get("", set())
                kind = gres.type or (min(typed) if len(typed) == 1 else "untyped")
                found[kind] = found.get(kind, 0) + gres.count
        return found

    def count(self):
        types = {}
        for node in self.site.nodes.values():
            for kind, number in self.gpus_of(node).items():
                types[kind] = types.get(kind, 0) + number
        users = {user.name for name, user in self.all_users() if name != "root"}
        self.report.counts = {
            "queues": self.document.number_of("queue"),
            "accounts": self.document.number_of("account"),
            "users": len(users),
            "nodes": len(self.site.nodes),
            "gpus": sum(types.values()),
            "gpu_types": dict(sorted(types.items())),
        }
        if self.usage is not None:
            self.report.counts["usage_rows"] = len(self.usage)

    def gpu_seconds_of_unit(self):
        """What one of RawUsage is worth: its part of a second of the whole cluster, in GPUs."""
        told = [written for written in self.billing_told() if written]
        weights = billing_of(told[0]) if len(told) == 1 else {"cpu": 1.0}
        billed = 0.0
        for node in self.site.nodes.values():
            cpus = int(node.cpus_text() or 1)
            billed += weights.get("cpu", 0) * cpus
            for kind, number in self.gpus_of(node).items():
                billed += weights.get(f"gres/gpu:{kind}", weights.get("gres/gpu", 0)) * number
        gpus = self.report.counts["gpus"]
        return gpus / billed if gpus and billed else 1.0


def billing_of(text):
    """{tres: weight} of CPU=1.0,Mem=0.25G,GRES/gpu:a100=4; what is not a number counts nothing."""
    weights = {}
    for part in text.split(","):
        key, _, value = part.partition("=")
        try:
            weights[key.strip().lower()] = max(float(value.rstrip("KMGTP")), 0.0)
        except ValueError:
            weights[key.strip().lower()] = 0.0
    return weights
