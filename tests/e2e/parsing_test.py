"""Random command lines: what we make of each is what ssh makes of it.

parsing_test.py PARSED-OPTIONS SHIM CONFIG FAR-COMMAND PORT...
CONFIG knows the host `far`, whose sshd listens on each PORT; FAR-COMMAND prints there what it was given. MCDTP_SEED
draws others. The two halves: every list against `ssh -G`, and a few at the far end, where ssh and
the shim have to leave the same bytes and the same status.
"""
import os
import random
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

LISTS, FAR_LISTS = 300, 24
PARSED, SHIM, CONFIG, FAR_COMMAND = sys.argv[1:5]
PORTS = sys.argv[5:]

YES_NO = ["yes", "no", "true", "FALSE", "Yes"]
# What -o lines may say, the last of each list mostly what ssh refuses.
KEYWORDS = {
    "AddressFamily": ["any", "inet", "INET6", "ipx"],
    "BatchMode": YES_NO + ["maybe"],
    "ClearAllForwardings": YES_NO,
    "Compression": YES_NO,
    "ConnectTimeout": ["30", "0", "x"],
    "ControlMaster": ["yes", "no", "auto", "ask", "autoask"],
    "ControlPath": ["none", "/nowhere/%C", '"/no where/s"'],
    "DynamicForward": ["1080", "[::1]:1080"],
    "ForkAfterAuthentication": YES_NO,
    "ForwardAgent": ["yes", "no"],
    "ForwardX11": YES_NO,
    "HostKeyAlias": ["alias"],
    "HostName": ["127.0.0.1", "%h.example"],
    "IdentityFile": ["/nowhere/key", '"/no where/key"', "none"],
    "LocalForward": ["2000 far:2", "127.0.0.1:2000 far:2", "/nowhere/socket far:2"],
    "LogLevel": ["QUIET", "error", "INFO", "Verbose", "debug", "DEBUG3", "loud"],
    "Port": ["22", "2222", "0", "70000", "ssh"],
    "ProxyCommand": ["none", "nc %h %p"],
    "RemoteCommand": ["none", "echo  'a b'"],
    "RemoteForward": ["2001 far:2", "2002"],
    "RequestTTY": ["no", "yes", "auto", "Force"],
    "SendEnv": ["GIT_PROTOCOL", "LC_* LANG"],
    "ServerAliveInterval": ["15", "1m"],
    "SessionType": ["none", "subsystem", "default"],
    "SetEnv": ["A=b", '"A=b c" D=e'],
    "StdinNull": YES_NO,
    "StrictHostKeyChecking": ["yes", "accept-new", "off"],
    "Tunnel": ["no", "yes", "ethernet", "point-to-point"],
    "User": ["ann", '"a b"', "a\\ b", "'it'", "a@b"],
    "NoSuchKeyword": ["1"],
}
COMMON = ["User", "Port", "RequestTTY", "BatchMode", "SessionType", "StdinNull"]
LETTERS = "46AaCTXYxfgknNqstvyKM"
VALUES = {
    "b": ["127.0.0.1"], "c": ["aes128-ctr", "8", "no-such"], "e": ["none", "^x", "~"], "i": ["/nowhere/key", "x y"],
    "l": ["ann", "a@b", "root"], "m": ["hmac-sha2-256"], "p": ["22", "2222", "ssh", "0", "99999"],
    "B": ["lo"], "D": ["1080", "x:y:z:1"], "E": ["/dev/null"], "I": ["/nowhere/pkcs11"],
    "J": ["jump", "a@jump:7", "none"],
    "L": ["2000:far:22", "2000"], "O": ["check"], "R": ["2001:far:22", "2002"], "S": ["/nowhere/socket", "none"],
    "W": ["far:22"], "w": ["0", "any:1"],
}
OURS = [["-c", "8"], ["-c8"], ["--memory", "64M"], ["--cc=cubic"], ["--bootstrap", "ssh"]]
HOSTS = ["far", "FAR", "::1", "10.0.0.1", "ann@far", "a@b@far", "ann@::1", "ssh://far", "ssh://ann@far",
         "ssh://far:2222", "ssh://a%40b+c@far:2222/", "ssh://far/path", "ssh://far:ssh", "ssh://[::1]:22", "ann@", "@far",
         "far:22"]
COMMANDS = ["id", "a  b", "", "--", "-x", "-p", "'q q'", '"', "$HOME", "\\ x", "-c8", "--memory", "a\nb", "\xfc"]


class Generator:
    def __init__(self, seed):
        self.random = random.Random(seed)

    def chance(self, part):
        return self.random.random() < part

    def one(self, choices):
        return self.random.choice(choices)

    def keyword_line(self, name, value):
        name = self.one([name, name, name.lower(), name.upper()])
        if not self.chance(0.5):
            return f"{name}={value}"
        quoted = value if value[0] in "\"'" or "\\" in value or " " in value else f'"{value}"'
        return self.one([f"{name} {value}", f" {name} = {value}", f"{name}\t{value} ", f"{name}={quoted}",
                         f"{name} =  {quoted}", f'"{name}" {value}', f"{name}= {value}"])

    def valued(self, letter, value):
        return [f"-{letter}", value] if self.chance(0.5) else [f"-{letter}{value}"]

    def option(self):
        if self.chance(0.4):
            name = self.one(COMMON if self.chance(0.5) else list(KEYWORDS))
            return self.valued("o", self.keyword_line(name, self.one(KEYWORDS[name])))
        if self.chance(0.1):
            return self.one(OURS)
        if self.chance(0.5):
            letter = self.one("lp" if self.chance(0.4) else list(VALUES))
            return self.valued(letter, self.one(VALUES[letter]))
        letters = "46aCTxgknqsvyKtAN" if self.chance(0.8) else LETTERS
        cluster = "".join(self.one(letters) for _ in range(self.one([1, 1, 2, 3])))
        if self.chance(0.2):
            letter = self.one("lpoi")
            value = "BatchMode=yes" if letter == "o" else self.one(VALUES[letter])
            tail = self.valued(letter, value)
            return ["-" + cluster + tail[0][1:]] + tail[1:]
        return ["-" + cluster]

    def options(self):
        return [word for _ in range(self.one([0, 0, 1, 1, 2, 3, 4])) for word in self.option()]

    def command(self):
        return [self.one(COMMANDS) for _ in range(self.one([0, 0, 1, 1, 2, 4]))]

    def words(self):
        words = self.options()
        if self.chance(0.2):
            words += ["--"]
        words += [self.one(HOSTS if self.chance(0.6) else ["far", "ann@far"])]
        if self.chance(0.5):
            words += self.options()
        if self.chance(0.1):
            words += ["--"]
        return words + self.command()

    # What the far end can be asked to run, with nothing that goes to the background or listens.
    def far_words(self):
        harmless = [["-T"], ["-C"], ["-q"], ["-n"], ["-x"], ["-a"], ["-tt"], ["-4"], ["-e", "none"], ["-c", "8"],
                    ["-c4"], ["-xaT"], ["-nq"], ["-M"], ["-s"], ["-o", "LogLevel=error"], ["-oRequestTTY=no"],
                    ["-o", " ConnectTimeout = 30"], ["-oStdinNull=yes"], ["-obatchmode yes"], ["-oBatchMode=maybe"],
                    ["-o", 'SetEnv=FAR_TOKEN="a b"'], ["-oSendEnv=LC_*"], ["-l", "no-such-user"],
                    ["-oControlMaster=auto", "-oControlPath=none"], ["--memory=64M"], ["-oRemoteCommand=none"],
                    ["-oClearAllForwardings=yes", "-L", "1:far:1"], ["-oPort=" + PORTS[1]], ["-p" + PORTS[1]],
                    ["-p", PORTS[0]], ["-xqp", PORTS[1]]]
        some = lambda: [word for _ in range(self.one([0, 1, 1, 2, 3])) for word in self.one(harmless)]
        words = some() + self.one([[], [], ["--"]])
        user = os.environ["USER"]
        words += [self.one(["far", f"{user}@far", f"ssh://far:{PORTS[1]}", f"ssh://{user}@far"])]
        if "--" not in words:
            words += some() + self.one([[], [], ["--"]])
        tail = ["'a  b'", "c d", "$0", "\\$HOME", '"q\'q"', "-l", "x;echo", "", "--", "'\xfc'"]
        return words + [FAR_COMMAND] + [self.one(tail) for _ in range(self.one([0, 1, 2, 3]))]


def ssh_config(words):
    run = subprocess.run(["ssh", "-F", "none", "-G", *words], stdin=subprocess.DEVNULL, capture_output=True)
    lines = run.stdout.decode("latin-1").splitlines() if run.returncode == 0 else []
    return run.returncode, lines, run.stderr


def first(lines, keyword, default=""):
    return next((line.partition(" ")[2] for line in lines if line.partition(" ")[0] == keyword), default)


def parsed(words):
    run = subprocess.run([PARSED, *words], capture_output=True, check=True)
    return run.stdout.decode("latin-1").splitlines()


def unhex(text):
    return bytes.fromhex(text).decode("utf-8")


def words_of(ours, name):
    return [unhex(line.partition(" ")[2]) for line in ours if line.startswith(name + " ")]


def forwards(lines):
    return [line for line in lines if line.split()[0] in ("localforward", "remoteforward", "dynamicforward")]


# Why only the real ssh can do what `ssh -G` has resolved; forwards are not among them.
def only_ssh(lines):
    wanted = {"requesttty": ("true", "force"), "controlmaster": ("true", "ask"), "forwardx11": ("yes",)}
    found = [keyword for keyword, values in wanted.items() if first(lines, keyword) in values]
    found += ["forwardagent"] if first(lines, "forwardagent", "no") != "no" else []
    found += ["tunnel"] if first(lines, "tunnel", "false") != "false" else []
    found += ["remotecommand"] if first(lines, "remotecommand", "none") != "none" else []
    return found


# ssh hands the words that only it can judge to itself: those are no difference.
ONLY_IN_THE_WORDS = ("-M", "-N ", "-O", "-W ", "-w", "-s ", "-s", "the destination ")
# What is taken from the bootstrap: its stdin must be ours, and its command our server. ssh sets these with -W too.
NOT_FOR_THE_BOOTSTRAP = ("stdinnull ", "sessiontype ", "forkafterauthentication ")
OF_STDIO_FORWARD = ("clearallforwardings ", "exitonforwardfailure ", "requesttty ", "localforward ", "remoteforward ",
                    "dynamicforward ")
# LogLevel: whether that is quiet, and how many -v.
LEVELS = {"SILENT": (True, 0), "QUIET": (True, 0), "FATAL": (True, 0), "ERROR": (True, 0), "INFO": (False, 0),
          "VERBOSE": (False, 0), "DEBUG": (False, 1), "DEBUG1": (False, 1), "DEBUG2": (False, 2), "DEBUG3": (False, 3)}


def differences(words):
    ours = parsed(words)
    action, message = first(ours, "action"), first(ours, "message")
    handed_over = words_of(ours, "hand-over-word")
    status, wanted, error = ssh_config(handed_over)
    if action == "error":
        return [] if status != 0 else [f"we refuse ({message}), ssh does not"]
    if action == "hand-over":
        needed = only_ssh(wanted)
        excused = status != 0 or any(message.startswith(word) for word in ONLY_IN_THE_WORDS)
        return [] if needed or excused else [f"handed over ({message}) for nothing"]
    bootstrap = words_of(ours, "ssh-word") + ["--", unhex(first(ours, "host"))]
    again_status, again, again_error = ssh_config(bootstrap)
    if status != 0:
        same = again_status != 0 and again_error == error
        return [] if same else [f"ssh refuses: {error}, the bootstrap: {again_error}"]
    found = [f"runs, though {only_ssh(wanted)}"] if only_ssh(wanted) else []
    left_out = NOT_FOR_THE_BOOTSTRAP + (OF_STDIO_FORWARD if first(ours, "no-command") == "yes" else ())
    if first(wanted, "clearallforwardings") == "yes":  # said by the words, or by -W
        left_out += ("localforward ", "remoteforward ", "dynamicforward ")
    without = lambda lines: [line for line in lines if not line.startswith(left_out)]
    if without(wanted) != without(again):
        found += [f"the bootstrap resolves {set(again) ^ set(wanted)}"]
    facts = {
        "host": (unhex(first(ours, "host")), first(wanted, "host")),
        "user": (unhex(first(ours, "user", os.environ["USER"].encode().hex())), first(wanted, "user")),
        "port": (first(ours, "port", first(wanted, "port")), first(wanted, "port")),
        "stdinnull": (first(ours, "stdinnull"), first(wanted, "stdinnull")),
        "addressfamily": (first(ours, "addressfamily"), first(wanted, "addressfamily")),
        "no command": (first(ours, "no-command") == "yes", first(wanted, "sessiontype") == "none"),
        "background": (first(ours, "background"), first(wanted, "forkafterauthentication")),
        "forwards": (first(ours, "forwards") == "yes" or not forwards(wanted), True),
        "subsystem": (first(ours, "subsystem") == "yes", first(wanted, "sessiontype") == "subsystem"),
        "level": ((first(ours, "quiet") == "yes", int(first(ours, "verbose"))), LEVELS[first(wanted, "loglevel")]),
    }
    return found + [f"{name}: {got}, ssh {want}" for name, (got, want) in facts.items() if got != want]


# ssh takes none of our own options. A terminal would echo stdin, before the output or behind it.
def at_the_far_end(words):
    def run(program, words):
        bytes_in = b"" if "-tt" in words else b"bytes of stdin\n"
        done = subprocess.run([program, "-F", CONFIG, *words], input=bytes_in, capture_output=True, timeout=60)
        return done.returncode, done.stdout, done.stderr
    ours, theirs = run(SHIM, words), run("ssh", words_of(parsed(words), "hand-over-word"))
    return [] if ours == theirs else [f"got {ours}", f"ssh gives {theirs}"]


def compare(name, lists, judge):
    with ThreadPoolExecutor(max_workers=3) as pool:
        results = list(pool.map(judge, lists))
    wrong = [(words, found) for words, found in zip(lists, results) if found]
    for words, found in wrong[:10]:
        print(f"FAILED: {words}")
        for line in found:
            print(f"  {line}")
    print(f"- {len(lists)} command lines {name}, {len(wrong)} of them not as ssh")
    return not wrong


def main():
    os.environ.setdefault("USER", subprocess.check_output(["id", "-un"], text=True).strip())
    seed = int(os.environ.get("MCDTP_SEED", "1"))
    print(f"seed {seed} (MCDTP_SEED=N draws others)")
    generator = Generator(seed)
    lists = [generator.words() for _ in range(LISTS)]
    far_lists = [generator.far_words() for _ in range(FAR_LISTS)]
    good = compare("against ssh -G", lists, differences)
    good &= compare("at the far end", far_lists, at_the_far_end)
    sys.exit(0 if good else 1)


main()
