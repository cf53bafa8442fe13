------------------------------- MODULE Series -------------------------------
(* Consecutive numbers: one series, a device, and a copy of it.               *)
(*                                                                           *)
(* The words are those of docs/glossary.md. What a device has stored         *)
(* on its disk may be copied at any moment, or be set back to a backup. Each *)
(* message may be lost, late, and come twice. Each rule of the protocol is a *)
(* constant: set to FALSE, TLC shows how a number is made twice without it,  *)
(* or how a device that was never copied loses its series.                   *)
EXTENDS Naturals, FiniteSets

CONSTANTS
    MostNumbers, MostCheckIns, MostSales,  \* the bounds of what is explored
    MayGoOn,         \* the device goes on offline, or after its deadline
    HeardFirst,      \* a number is handed out after the server has heard of it
    OwnAnswer,       \* an answer permits what its own check-in has named
    SameId,          \* a check-in is repeated under its id until it is answered
    IdsRemembered    \* the server answers a repetition as it did the first time

Devices == {1, 2}
Nothing == [id |-> 0, token |-> 0, last |-> 0]

VARIABLES
    disk,      \* of each device: what it has stored of the series
    backup,    \* of device 1
    sent,      \* check-ins that may still arrive, again and again
    server,    \* its token, and its answers by id
    made,      \* every number that was handed out, for which sale, and whether it was heard of
    sales, checkIns, copies    \* how many there were

vars == <<disk, backup, sent, server, made, sales, checkIns, copies>>

(* rows[n] is the sale that number n was taken for. *)
New == [token |-> 1, told |-> 0, rows |-> <<>>, out |-> {}, checkIn |-> Nothing, ended |-> FALSE]

Init ==
    /\ disk = [d \in Devices |-> IF d = 1 THEN New ELSE [New EXCEPT !.ended = TRUE]]
    /\ backup = New
    /\ sent = {}
    /\ server = [token |-> 1, answers |-> {}]
    /\ made = {}
    /\ sales = 0 /\ checkIns = 0 /\ copies = 0

Len(rows) == Cardinality(DOMAIN rows)
Named(d) == [id |-> checkIns + 1, token |-> disk[d].token, last |-> Len(disk[d].rows)]

(* A number and its sale are stored in one step, with the check-in that names them. *)
Take(d) ==
    LET of == disk[d]
        n == Len(of.rows) + 1
        isFree == of.checkIn = Nothing /\ checkIns < MostCheckIns
    IN  /\ ~of.ended /\ n <= MostNumbers /\ sales < MostSales
        /\ sales' = sales + 1
        /\ disk' = [disk EXCEPT ![d].rows = [m \in 1..n |-> IF m = n THEN sales + 1 ELSE of.rows[m]],
                                ![d].checkIn = IF isFree
                                    THEN [id |-> checkIns + 1, token |-> of.token, last |-> n]
                                    ELSE @]
        /\ checkIns' = IF isFree THEN checkIns + 1 ELSE checkIns
        /\ UNCHANGED <<backup, sent, server, made, copies>>

(* A check-in of its own, where an answer came and later numbers wait. *)
Ask(d) ==
    LET of == disk[d] IN
    /\ ~of.ended /\ checkIns < MostCheckIns
    /\ of.checkIn = Nothing \/ ~SameId
    /\ of.told < Len(of.rows)
    /\ disk' = [disk EXCEPT ![d].checkIn = Named(d)]
    /\ checkIns' = checkIns + 1
    /\ UNCHANGED <<backup, sent, server, made, sales, copies>>

Send(d) ==
    /\ ~disk[d].ended /\ disk[d].checkIn # Nothing
    /\ sent' = sent \cup {disk[d].checkIn}
    /\ UNCHANGED <<disk, backup, server, made, sales, checkIns, copies>>

(* The newest token is replaced by another one; an old one says that its holder is a copy. *)
Hear(request) ==
    LET isKnown == IdsRemembered /\ \E answer \in server.answers : answer.id = request.id
        isNewest == request.token = server.token
        token == IF isNewest THEN server.token + 1 ELSE 0
    IN  /\ ~isKnown
        /\ server' = [token |-> IF isNewest THEN token ELSE server.token,
                      answers |-> server.answers \cup {[id |-> request.id, token |-> token]}]
        /\ UNCHANGED <<disk, backup, sent, made, sales, checkIns, copies>>

Answered(d) ==
    LET of == disk[d] IN
    \E answer \in server.answers :
        /\ ~of.ended /\ of.checkIn # Nothing /\ answer.id = of.checkIn.id
        /\ disk' = [disk EXCEPT ![d] =
            IF answer.token = 0
            THEN [of EXCEPT !.ended = TRUE, !.checkIn = Nothing]
            ELSE [of EXCEPT !.token = answer.token, !.checkIn = Nothing,
                            !.told = IF OwnAnswer THEN of.checkIn.last ELSE Len(of.rows)]]
        /\ UNCHANGED <<backup, sent, server, made, sales, checkIns, copies>>

HandOut(d, n, isHeard) ==
    /\ ~disk[d].ended /\ n \in DOMAIN disk[d].rows \ disk[d].out
    /\ disk' = [disk EXCEPT ![d].out = @ \cup {n}]
    /\ made' = made \cup {[number |-> n, sale |-> disk[d].rows[n], isHeard |-> isHeard]}
    /\ UNCHANGED <<backup, sent, server, sales, checkIns, copies>>

(* Without the rule, a device whose last number was heard of hands the next one out. *)
Heard(d, n) == IF HeardFirst THEN n <= disk[d].told ELSE n <= disk[d].told + 1

BackUp ==
    /\ backup' = disk[1]
    /\ UNCHANGED <<disk, sent, server, made, sales, checkIns, copies>>

(* A copy beside the device, or the device itself is set back. *)
Restore(d) ==
    /\ copies < 1
    /\ copies' = copies + 1
    /\ disk' = [disk EXCEPT ![d] = backup]
    /\ UNCHANGED <<backup, sent, server, made, sales, checkIns>>

Next ==
    \/ BackUp
    \/ \E request \in sent : Hear(request)
    \/ \E d \in Devices :
        \/ Take(d) \/ Ask(d) \/ Send(d) \/ Answered(d) \/ Restore(d)
        \/ \E n \in 1..MostNumbers :
            \/ Heard(d, n) /\ HandOut(d, n, TRUE)
            \/ MayGoOn /\ ~Heard(d, n) /\ HandOut(d, n, FALSE)

Spec == Init /\ [][Next]_vars

-----------------------------------------------------------------------------
(* No number is made for two sales, unless one of them was not heard of: then *)
(* its device reports it as doubtful.                                        *)
NoNumberTwice ==
    \A a, b \in made : a.number = b.number /\ a.isHeard /\ b.isHeard => a.sale = b.sale

(* A device that was never copied or set back keeps its series. *)
NoFalseCopy == copies = 0 => ~disk[1].ended
=============================================================================
