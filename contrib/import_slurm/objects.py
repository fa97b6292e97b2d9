"""Limits and QOS of a Conversion: what jobs count against."""
from import_slurm.limits import Scopes
from import_slurm.values import count_of, duration, is_name

POINTS_MAX = 1000000
USAGE_MAX = 1000000
NO_LIMIT_0 = "0 allows nothing in Slurm; in Muster it is no limit: close the account instead"
UNSAID_LIMIT = "there is no such limit: of jobs, GPUs, CPUs, nodes and time there are"
QOS_TEXTS = {
    "preemptmode": "preempt_mode of the victims' [[queue]]: requeue or cancel",
    "gracetime": "kill_wait of the victims' [[queue]] is the time from SIGTERM to SIGKILL",
    "flags": "a QOS has no flags; what a limit never allows is refused at submission",
}


def put_scopes(table, scopes):
    for scope in ("limits", "user_limits", "account_limits"):
        if scope in scopes.tables:
            table.put(scope, scopes.tables[scope])


def list_left(conversion, place, what, scopes):
    for key, value in scopes.left:
        text = NO_LIMIT_0 if value == "0" else UNSAID_LIMIT
        conversion.report.no_equal(place, f"{what}, {key}={value}", text)


def scopes_of(options):
    """The limits among a dump's options, and the keys that they were."""
    scopes, taken = Scopes(), set()
    for key, (written, value) in options.items():
        if scopes.take(written, value):
            taken.add(key)
    return scopes, taken


def take_account_limits(conversion, account, table):
    scopes, taken = scopes_of(account.options)
    put_scopes(table, scopes)
    list_left(conversion, account.place, f"account {account.name}", scopes)
    return taken


def take_users(conversion):
    """Limits of users with one account; where there are several, each would count all of them."""
    entries = {}
    for account, user in conversion.all_users():
        if account != "root":
            entries.setdefault(user.name, []).append(user)
    for name, users in entries.items():
        limited = [user for user in users if scopes_of(user.options)[1]]
        if not limited or len(users) > 1 or not is_name(name):
            for user in limited:
                list_several(conversion, user)
            continue
        scopes, _ = scopes_of(users[0].options)
        table = conversion.document.table("user", f"{users[0].place}")
        table.put("name", name)
        both = {**scopes.tables.get("user_limits", {}), **scopes.tables.get("limits", {})}
        table.put("limits", both)
        list_left(conversion, users[0].place, f"user {name}", scopes)


def list_several(conversion, user):
    for key, (written, value) in user.options.items():
        if key in scopes_of(user.options)[1]:
            text = "a [[user]] has limits over all accounts: set them, or the account's user_limits"
            conversion.report.no_equal(user.place, f"user {user.name}, {written}={value}", text)


def qos_lists(options):
    return [name for name in options.get("qos", ("", ""))[1].lower().split(",") if name]


def accounts_with(conversion, qos):
    """Accounts that list a QOS; None: all. A user who lists it brings the account along."""
    tree = conversion.tree
    if not conversion.has_tree or qos.name in qos_lists(tree.options):
        return None
    names = [a.name for a in tree.accounts.values() if qos.name in qos_lists(a.options)]
    for account in tree.accounts.values():
        for users in account.users.values():
            for user in users:
                if qos.name in qos_lists(user.options) and account.name not in names:
                    names.append(account.name)
                    text = f"is for accounts: all users of {account.name} may ask for it"
                    conversion.report.differs(user.place, f"user {user.name}, QOS {qos.name}", text)
    return [name for name in names if name in conversion.document.account_names]


def put_preemption(conversion, qos, names, table):
    """Whom it stops, as far as they became [[qos]]; only PreemptType says that it does at all."""
    what = f"QOS {qos.name}, Preempt={','.join(qos.preempts)}"
    known = [name for name in qos.preempts if name in names and name != qos.name]
    if qos.preempts and conversion.site.setting("preempttype", "").lower() != "preempt/qos":
        known = []
        text = "PreemptType is not preempt/qos, so it stops nobody: left out"
        conversion.report.differs(qos.place, what, text)
    elif known != qos.preempts:
        text = "those that are no [[qos]] were left out"
        conversion.report.differs(qos.place, what, text)
    if known:
        table.put("preempts", known)
    if qos.exempt:
        table.put("preempt_after", duration(qos.exempt))


def take_qos(conversion):
    weight = count_of(conversion.site.setting("priorityweightqos", "0"))
    highest = max((qos.priority for qos in conversion.qos.values()), default=0)
    users = {qos.name: accounts_with(conversion, qos) for qos in conversion.qos.values()}
    names = {name for name, accounts in users.items() if is_name(name) and accounts != []}
    for qos in conversion.qos.values():
        what = f"QOS {qos.name}"
        for key, value in qos.others:
            text = QOS_TEXTS.get(key, UNSAID_LIMIT)
            conversion.report.no_equal(qos.place, f"{what}, {key}={value}", text)
        accounts = users[qos.name]
        if not is_name(qos.name) or accounts == []:
            text = "no account may use it" if accounts == [] else "is no name for a QOS"
            conversion.report.differs(qos.place, what, text + ": left out")
            continue
        table = conversion.document.table("qos", f"{qos.place}")
        table.put("name", qos.name)
        if highest and qos.priority:
            points = min(qos.priority * min(weight, POINTS_MAX) // highest, POINTS_MAX)
            table.put("priority", points)
        if qos.usage != 1:
            table.put("usage_milli", min(round(qos.usage * 1000), USAGE_MAX))
        if accounts is not None:
            table.put("accounts", accounts)
        put_preemption(conversion, qos, names, table)
        put_scopes(table, qos.scopes)
        if qos.name == "normal" and qos.scopes.tables:
            text = "its limits hold for jobs that say --qos normal; set [[user]] '*' for the others"
            conversion.report.differs(qos.place, what, text)


def put_partition_qos(conversion, part, table):
    """The limits of a partition's QOS are those of the queue."""
    name = part.text("qos").lower()
    if not name:
        return
    what = f"partition {part.name}, QOS={name}"
    if name not in conversion.qos:
        text = "sacctmgr knows no such QOS" if conversion.qos else "give --qos FILE for its limits"
        conversion.report.no_equal(part.place, what, text)
        return
    put_scopes(table, conversion.qos[name].scopes)
    conversion.report.differs(part.place, what, "its limits became the queue's")
