------------------------------- MODULE Ranges -------------------------------
(* Ids: the range that a device holds, and a copy of the device.             *)
(*                                                                           *)
(* The words are those of docs/glossary.md. What a device has stored         *)
(* on its disk may be copied while it is closed, or be set back to a backup. *)
(* Each message may be lost, late, and come twice. Each rule of the protocol *)
(* is a constant: set to FALSE, TLC shows how a number is used twice without *)
(* it. Each limit is one, too: set to TRUE, TLC shows what remains.          *)
EXTENDS Naturals, FiniteSets

CONSTANTS
    Size, MostCheckIns,  \* the bounds of what is explored
    AsksFirst,       \* a run leases nothing that is stored before a check-in is answered
    OwnCheckIn,      \* and that check-in is of this run, not one that it found on its disk
    TokenReplaced,   \* a check-in replaces the token of the range
    CopyHeard,       \* the server notes, too, what a check-in with an old token has named
    IdsRemembered,   \* the server answers a repetition as it did the first time
    CutAtHigh,       \* a give-back frees no number that a check-in has named
    MayGoOn,         \* limit: without an answer in time, a run goes on as offline
    MayRunBeside     \* limit: a device is copied, or set back, while it runs

Devices == {1, 2}
Server == 3
Nothing == [id |-> 0, token |-> 0, last |-> 0]

VARIABLES
    disk,      \* of each device: the range as it is stored
    run,       \* of each device: "closed", "asking", "asked" (by this run) or "leasing"
    backup,    \* of device 1
    sent,      \* check-ins and give-backs that may still arrive, again and again
    server,    \* the token, the highest number that was named, the answers, what is free again
    used,      \* every number that was used, and by whom
    named,     \* the highest number that any check-in has named
    isTwice,   \* a number was used by two, and the server had heard of it before
    isFreed,   \* a number went back to the server that a check-in had named
    checkIns, copies    \* how many there were

vars == <<disk, run, backup, sent, server, used, named, isTwice, isFreed, checkIns, copies>>
truth == <<used, named, isTwice, isFreed>>

New == [token |-> 1, last |-> 0, checkIn |-> Nothing, isDropped |-> FALSE]

Init ==
    /\ disk = [d \in Devices |-> IF d = 1 THEN New ELSE [New EXCEPT !.isDropped = TRUE]]
    /\ run = [d \in Devices |-> "closed"]
    /\ backup = New
    /\ sent = {}
    /\ server = [token |-> 1, high |-> 0, answers |-> {}, free |-> {}]
    /\ used = {} /\ named = 0 /\ isTwice = FALSE /\ isFreed = FALSE
    /\ checkIns = 0 /\ copies = 0

Start(d) ==
    /\ run[d] = "closed"
    /\ run' = [run EXCEPT ![d] = IF AsksFirst THEN "asking" ELSE "leasing"]
    /\ UNCHANGED <<disk, backup, sent, server, truth, checkIns, copies>>

Close(d) ==
    /\ run[d] # "closed"
    /\ run' = [run EXCEPT ![d] = "closed"]
    /\ UNCHANGED <<disk, backup, sent, server, truth, checkIns, copies>>

(* A check-in is stored, and repeated under its id until it is answered. It names what is used. *)
Ask(d) ==
    /\ run[d] # "closed" /\ ~disk[d].isDropped
    /\ disk[d].checkIn = Nothing /\ checkIns < MostCheckIns
    /\ checkIns' = checkIns + 1
    /\ disk' = [disk EXCEPT ![d].checkIn =
            [id |-> checkIns + 1, token |-> disk[d].token, last |-> disk[d].last]]
    /\ run' = [run EXCEPT ![d] = IF @ = "asking" THEN "asked" ELSE @]
    /\ UNCHANGED <<backup, sent, server, truth, copies>>

Send(d) ==
    /\ run[d] # "closed" /\ disk[d].checkIn # Nothing
    /\ sent' = sent \cup {[kind |-> "checkIn", request |-> disk[d].checkIn]}
    /\ UNCHANGED <<disk, run, backup, server, truth, checkIns, copies>>

Max(a, b) == IF a > b THEN a ELSE b

Hear(request) ==
    LET isKnown == IdsRemembered /\ \E answer \in server.answers : answer.id = request.id
        isNewest == request.token = server.token
        token == IF isNewest THEN server.token + (IF TokenReplaced THEN 1 ELSE 0) ELSE 0
    IN  /\ ~isKnown
        /\ server' = [server EXCEPT
                !.token = IF isNewest THEN token ELSE @,
                !.high = IF isNewest \/ CopyHeard THEN Max(@, request.last) ELSE @,
                !.answers = @ \cup {[id |-> request.id, token |-> token]}]
        /\ named' = Max(named, request.last)
        /\ UNCHANGED <<disk, run, backup, sent, used, isTwice, isFreed, checkIns, copies>>

(* An answer that comes while the device asks first permits the run. *)
Answered(d) ==
    LET of == disk[d] IN
    \E answer \in server.answers :
        /\ run[d] # "closed" /\ of.checkIn # Nothing /\ answer.id = of.checkIn.id
        /\ disk' = [disk EXCEPT ![d] =
            IF answer.token = 0
            THEN [of EXCEPT !.isDropped = TRUE, !.checkIn = Nothing]
            ELSE [of EXCEPT !.token = answer.token, !.checkIn = Nothing]]
        /\ run' = [run EXCEPT ![d] = IF @ = "asking" /\ OwnCheckIn THEN @ ELSE "leasing"]
        /\ UNCHANGED <<backup, sent, server, truth, checkIns, copies>>

(* The deadline passes. *)
GoOn(d) ==
    /\ MayGoOn /\ run[d] \in {"asking", "asked"}
    /\ run' = [run EXCEPT ![d] = "leasing"]
    /\ UNCHANGED <<disk, backup, sent, server, truth, checkIns, copies>>

Use(n, who) ==
    /\ used' = used \cup {[number |-> n, who |-> who]}
    /\ isTwice' = (isTwice \/ \E use \in used :
            use.number = n /\ n <= named)
    /\ UNCHANGED <<named, isFreed>>

Lease(d) ==
    LET n == disk[d].last + 1 IN
    /\ run[d] = "leasing" /\ ~disk[d].isDropped /\ n <= Size
    /\ disk' = [disk EXCEPT ![d].last = n]
    /\ Use(n, d)
    /\ UNCHANGED <<run, backup, sent, server, checkIns, copies>>

(* What is not used goes back; the device has let it go before. *)
GiveBack(d) ==
    LET of == disk[d] IN
    /\ run[d] = "leasing" /\ ~of.isDropped /\ of.last < Size /\ of.checkIn = Nothing
    /\ sent' = sent \cup {[kind |-> "giveBack", request |-> [token |-> of.token, last |-> of.last]]}
    /\ disk' = [disk EXCEPT ![d].isDropped = TRUE]
    /\ UNCHANGED <<run, backup, server, truth, checkIns, copies>>

Free(request) ==
    /\ request.token = server.token
    /\ LET from == IF CutAtHigh THEN Max(server.high, request.last) ELSE request.last
       IN /\ server' = [server EXCEPT !.free = (from + 1)..Size, !.token = @ + 1]
          /\ isFreed' = (isFreed \/ from < named)
    /\ UNCHANGED <<disk, run, backup, sent, used, named, isTwice, checkIns, copies>>

(* Another device gets a number that was freed. *)
GrantAgain ==
    \E n \in server.free :
        /\ server' = [server EXCEPT !.free = @ \ {n}]
        /\ Use(n, Server)
        /\ UNCHANGED <<disk, run, backup, sent, checkIns, copies>>

BackUp ==
    /\ run[1] = "closed" \/ MayRunBeside
    /\ backup' = disk[1]
    /\ UNCHANGED <<disk, run, sent, server, truth, checkIns, copies>>

(* A copy beside the device, or the device itself is set back. *)
Restore(d) ==
    /\ run[d] = "closed" /\ copies < 1
    /\ run[1] = "closed" \/ MayRunBeside
    /\ copies' = copies + 1
    /\ disk' = [disk EXCEPT ![d] = backup]
    /\ UNCHANGED <<run, backup, sent, server, truth, checkIns>>

Next ==
    \/ BackUp \/ GrantAgain
    \/ \E message \in sent :
        IF message.kind = "checkIn" THEN Hear(message.request) ELSE Free(message.request)
    \/ \E d \in Devices :
        \/ Start(d) \/ Close(d) \/ Ask(d) \/ Send(d) \/ Answered(d) \/ GoOn(d)
        \/ Lease(d) \/ GiveBack(d) \/ Restore(d)

Spec == Init /\ [][Next]_vars

-----------------------------------------------------------------------------
(* A number of which the server has heard is used by nobody else. What it has *)
(* not heard of is the limit of docs/guide.md: a copy may use what the       *)
(* device used since its last check-in.                                      *)
NoNamedNumberTwice == ~isTwice

(* Nor does it go back to the server, whatever a copy does.                   *)
NoNamedNumberFreed == ~isFreed

(* A device that was never copied or set back drops its range only itself. *)
NoFalseCopy == copies = 0 => \A answer \in server.answers : answer.token # 0
=============================================================================
