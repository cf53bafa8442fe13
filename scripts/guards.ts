/**
 * The guards against duplicates (and against waste, where a hazard is only that). A comment with a
 * guard's name stands before its code. This list names, for each guard, the test that fails without
 * it and the code that replaces it; `npm run mutate` proves them. Hazards are the rows of
 * docs/internals/why-it-cannot-duplicate.md.
 */

export interface Guard {
  /** As in the comment: its hazard first. */
  name: string
  /** The file of tests that fails without it. */
  test: string
  /** @returns what takes the place of the marked code */
  takeOut(code: string): string
}

/** @param test `device/device`, or for the second package `server/fuzz` */
const guard = (name: string, test: string, instead: string | Guard['takeOut'] = ''): Guard => ({
  name,
  test: `${test.startsWith('server/') ? test.replace('/', '/test/') : `test/${test}`}.test.ts`,
  takeOut: typeof instead === 'string' ? () => instead : instead,
})

/** Changes a part of the marked code only. */
const change =
  (from: string | RegExp, to: string): Guard['takeOut'] =>
  (code) =>
    code.replace(from, to)

export const hazardOf = ({ name }: Guard): string => name.split(' ')[0]!

export const GUARDS: Guard[] = [
  guard(
    'H1 one transaction reads and writes',
    'store/indexeddb',
    `const reads = ((globalThis as never as { reads: Map<string, Found> }).reads ??= new Map())
     const name = tx.db.name + JSON.stringify(key)
     if (!reads.has(name)) reads.set(name, await look(tx, key))
     const { stored, notes } = reads.get(name)!`,
  ),

  guard('H2 leasing is strict', 'store/indexeddb', change("'strict'", "'relaxed'")),
  guard(
    'H2 nothing leaves before the transaction is complete',
    'store/indexeddb',
    change('work(tx), ended.then(throwIfFailed)', 'work(tx), undefined'),
  ),
  guard('H2 a request that fails fails its transaction', 'store/indexeddb'),
  guard(
    'H2 a page that waits for a claim gets its lease once it is stored',
    'worker/claims',
    'waiter.given = given',
  ),
  guard("H2 an app's own store commits before it resolves", 'addons/sqlite/store'),
  guard("H2 a series in an app's own store is committed before it resolves", 'addons/sqlite/store'),

  guard('H3 a page at rest holds few', 'client/pages', change('16', '400')),
  guard(
    'H3 a busy page holds four times its pace at most',
    'device/page/stock-rules',
    change('4', '40'),
  ),
  guard(
    'H3 what callers left that wait no more is parked, also during a claim',
    'client/allocator',
    change('isUnasked &&', "mode.is !== 'fetching' &&"),
  ),
  guard('H3 looking ahead claims nothing', 'device/device', 'const ahead = request.ahead ?? 0'),
  guard(
    'H3 a page parks its excess again, when an answer brought more',
    'client/allocator',
    change(/while \(.*\)/, 'while (false)'),
  ),
  guard(
    'H3 what a page looked ahead for is parked, also while its claim is unanswered',
    'client/allocator',
  ),
  guard('H3 a call that fails leaves its numbers to others', 'client/callers'),
  guard('H3 a page that starts looks again at those that answered', 'worker/tabs'),
  guard(
    'H3 a page that spoke before it was asked may be dead',
    'worker/tabs',
    change('(alive.get(other) ?? 0) >= question', 'alive.has(other)'),
  ),

  guard(
    'H4 what a page could not give back before it could send goes back after all',
    'client/late-file',
  ),
  guard('H4 a hidden page parks', 'client/pages', 'hidden: () => {}'),
  guard('H4 a page that has gone is leased nothing that a claim brings', 'worker/claims'),
  guard(
    'H4 a page that has gone is leased nothing by an exchange that comes to its turn late',
    'worker/owner',
    'const now = () => request',
  ),
  guard(
    'H4 without a document a page counts as hidden',
    'worker/index',
    change(/document\?\.[^,]*/, "document?.visibilityState !== 'hidden'"),
  ),

  guard(
    'H4 a page that closes leaves notes of what could not be stored',
    'client/closing',
    'if (!isLeft) await this.exchange(0)',
  ),
  guard('H4 what an ended batch has left goes to the device', 'client/batch'),
  guard('H4 what a batch has left is noted when the page goes', 'client/batch'),

  guard('H5 a lease is settled once', 'device/device', 'leases: state.leases'),
  guard('H5 a note frees nothing outside its lease', 'device/device', 'const next = note.next'),
  guard('H5 what a page has parked is not what it has sent', 'device/device', 'const sentTo = to'),
  guard('H5 the note in localStorage', 'client/page-exit'),
  guard('H5 the note in IndexedDB', 'client/page-exit'),

  guard(
    'H6 a lease given up is void',
    'device/page/lease-queue',
    change(/this\.next = 0.*held = 0/s, ''),
  ),
  guard(
    'H6 an answer that comes when the page has gone is not used',
    'client/page-leases',
    (code) => `${code} && false`,
  ),
  guard('H6 a page that goes says which answers it will not use', 'client/page-leases'),

  guard('H7 every page has a fresh id', 'client/pages', change('newId()', "'page'")),

  guard('H8 an offer leaves the ranges before it is sent', 'device/device', 'ranges: state.ranges'),
  guard('H8 an offer is sent once', 'client/page-leases'),
  guard('H8 a page does not send what it takes back', 'client/page-leases'),
  guard('H8 a release sends what is still set aside', 'worker/owner', 'true'),
  guard(
    'H8 each exchange has an id of its own',
    'client/release',
    change('this.#exchanges++', '0'),
  ),

  guard('H9 without a token only the node that granted gets it back', 'device/device', 'true'),
  guard(
    'H9 a page sends without a token only to the node that granted',
    'client/page-leases',
    'isOnline',
  ),
  guard(
    'H9 a view that comes late does not name the node that answered before',
    'client/page-leases',
    'this.view = view',
  ),
  guard(
    'H9 where two tabs name two nodes, none is known to have answered last',
    'worker/owner',
    'serverTag: shared.serverTag',
  ),

  guard('H10 a bare number of a batch is refused once two nodes have granted', 'client/hilo'),
  guard('H10 a server prefix that ends in a digit is refused', 'source/document'),
  guard('H10 numbers of different grants never merge', 'core/range', 'true'),
  guard('H10 a bare number is refused once two nodes have granted', 'client/hilo'),
  guard(
    'H10 an id is refused that leaves the node out, once two nodes have granted',
    'client/hilo',
  ),
  guard(
    'H10 two nodes stay two: this page may have issued numbers of both',
    'client/page-leases',
    'this.mixedNodes = view.mixedNodes',
  ),
  guard(
    'H10 an older message of another tab does not hide that two nodes have granted',
    'worker/owner',
    '...{}',
  ),

  guard('H11 a claim is stored before it is sent', 'device/claim', 'return { state, claim }'),
  guard(
    'H11 of names that are one to a server, one shares the id of a claim',
    'client/reserve',
    'const own = id',
  ),
  guard('H11 a grant is added once', 'device/claim'),
  guard('H11 an answer names its claim', 'server/hilo-routes', '...{}'),
  guard('H11 the answer to a check-in names it', 'server/hilo-routes', '...{}'),
  guard('H11 an answer that gives a series names its claim', 'server/series-routes', '...{}'),
  guard(
    "H11 the answer to a series' check-in names it",
    'server/series-routes',
    'return answer(resultBody(result, told.ledger))',
  ),
  guard("H11 an identity's number names the request for it", 'server/identity-routes', '...{}'),
  guard('H11 the answer to another request is no answer', 'source/raven-source'),
  guard('H11 a write of a document counts once its store shows it', 'source/document'),
  guard(
    'H11 the answer to a write of a document names it',
    'server/documents',
    'return answer({ Id: id, ChangeVector: vector }, 201)',
  ),
  guard('H11 what etcd answers another region takes no block', 'server/addons/region/etcd'),
  guard('H11 a claim names each collection once', 'server/hilo-routes'),
  guard('H37 an answer for another tag is no answer', 'source/raven-source'),
  guard('H37 an answer with another mark is no answer', 'source/raven-source'),

  guard(
    'H12 only its page takes an offer back',
    'device/device',
    '(offer) => ids.includes(offer.id)',
  ),
  guard('H12 what a give-back has taken does not come back', 'device/check-in', 'to: range.to'),
  guard(
    'H12 a check-in voids the old token',
    'server/sqlite-ledger',
    change('tokenVersion + 1', 'tokenVersion'),
  ),
  guard('H12 pages are asked for their offers before a server is', 'client/pages'),
  guard('H12 a grant that seems to be held is refused only after a check-in', 'worker/claims'),
  guard(
    'H12 what may have been sent is asked of nobody',
    'device/write-off',
    'const unsent = offers',
  ),

  guard('H13 a batch hears what its page hears', 'client/batch'),
  guard(
    'H13 a copy drops its ranges',
    'device/check-in',
    change('drop(applied, token)', 'applied'),
  ),
  guard(
    'H13 a claim shows the newest token',
    'device/check-in',
    'const shown = undefined as ReturnType<typeof tokenToShow>',
  ),
  guard(
    'H13 what a forgotten claim has shown is shown again as it was',
    'device/check-in',
    'if (!shown || shown) return rest',
  ),
  guard('H11 an answer that came before is not added again', 'device/claim'),
  guard(
    'H13 a check-in that an earlier session began is followed by a new one',
    'worker/check-ins',
  ),
  guard('H13 a page that hears of a fork voids what it holds', 'client/page-leases'),
  guard('H13 what a copied grant gives back is granted to nobody', 'server/sqlite-ledger'),
  guard('H13 nothing of a copied grant comes back', 'server/sqlite-ledger', 'const ended = grant'),
  guard(
    'H13 a token of another collection finds a copy, too',
    'server/sqlite-ledger',
    'const known: { database: string; collection: string }[] = []',
  ),
  guard(
    'H13 what a copy has used ahead of the other ends the grant for both',
    'server/sqlite-ledger',
    'const isAhead = false',
  ),
  guard(
    'H13 max does not go below a number of a copied grant',
    'server/sqlite-ledger',
    change(', firstHigh', ''),
  ),
  guard(
    'H13 one token that is superseded proves a copy, which keeps nothing',
    'server/sqlite-ledger',
    'const isCopy = false',
  ),
  guard(
    'H13 the token of a spent grant is void',
    'server/sqlite-ledger',
    'const spentGrant = grant',
  ),
  guard('H13 a claim is not answered again once its numbers are in use', 'server/sqlite-ledger'),

  guard(
    'H14 an open that never ends is given up',
    'store/indexeddb',
    change(/this\.#within\((.*?), '.*?'\)/, '$1'),
  ),
  guard('H14 a lost connection is opened again', 'store/indexeddb', change(/if \(.*?\)/, '')),
  guard('H14 ranges in memory are reported', 'client/pages', change("'memory'", "'best-effort'")),

  guard('H15 a message of somebody else is no page', 'worker/tabs'),
  guard('H15 no range above 2^53−1 is taken', 'source/raven-source'),
  guard("H15 an app's own source grants whole numbers only", 'source/own', 'return grant'),
  guard('H15 no number above 2^53−1 is granted', 'server/sqlite-ledger'),

  guard('H16 a call is raced with the worker’s death', 'client/owner-link'),
  guard(
    'H16 a worker that does not answer is given up',
    'client/owner-link',
    'if (isAlive) this.#watch()',
  ),
  guard('H16 time in the back/forward cache is no delay', 'core/when-late', 'const PARTS = 1'),
  guard(
    'H16 a page that was in the cache takes nobody for dead at once',
    'worker/dead-pages',
    'const PARTS = 1',
  ),
  guard(
    'H16 what a lost owner said of storage and network counts no more',
    'client/status',
    'const current = views',
  ),
  guard(
    'H16 a page that is heard while the storage is busy is not dead',
    'worker/dead-pages',
    `const verdict = dead()
     if (verdict.size > 0) await writeOff(() => verdict)`,
  ),
  guard(
    'H16 a page that is slow to park is not dead',
    'worker/tabs',
    'for (const other of silent) alive.delete(other)',
  ),
  guard('H16 an exchange that comes again is answered the same way', 'device/device'),
  guard(
    'H16 a release that comes again sends the rest',
    'worker/owner',
    'const withUnsent = (state: DeviceState) => state',
  ),
  guard('H16 a closed page starts no owner', 'client/closing'),
  guard(
    'H16 a page whose callers wait asks an owner that is silent',
    'client/allocator',
    change('this.retryNow()', '{}'),
  ),
  guard(
    'H16 a call during the refusal of another one is not forgotten',
    'client/callers',
    "if (is !== 'fetching') this.mode = asked(isIdle)",
  ),
  guard(
    'H16 a page does not write its own leases off',
    'device/write-off',
    `const lost = state.leases.slice(0, -MAX_PAGES)
     state = writeOff(state, lost, [])
     const oldest: string[] = [...pages].slice(0, excess * 0).filter(() => page === '')`,
  ),
  guard(
    'H16 who is told that a claim is repeated waits for one, also after a release',
    'worker/claims',
  ),

  guard('H17 storage of a newer version is left alone', 'device/stored'),
  guard('H17 a page of an older version stops when the storage is upgraded', 'store/indexeddb'),
  guard(
    'H17 a page uses no view that it would misread',
    'two-versions',
    'if (!((view: unknown): view is SharedView => view !== null)(shared)) return mine',
  ),
  guard('H17 a server that would misread upgraded tables grants nothing', 'server/sqlite-ledger'),
  guard('H17 a region misreads no record of a newer version', 'server/addons/region/region'),
  guard('H17 a record in which a number has two owners is refused', 'device/stored'),
  guard('H17 a state in which a number has two owners is not stored', 'worker/two-owners'),

  guard(
    'H18 a lock is not waited for without a deadline',
    'worker/world',
    change(/\{ signal: .*? \}/, '{}'),
  ),
  guard('H18 no lock is no reason to stop', 'worker/world', change('catch {}', 'finally {}')),
  guard(
    'H18 no channel is no reason to stop',
    'worker/world',
    change('catch {\n    return undefined', 'finally {'),
  ),
  guard(
    'H18 a transaction is not waited for without a deadline',
    'store/indexeddb',
    change(/this\.#within\((.*), '.*'\)/, '$1'),
  ),
  guard('H18 a transaction is committed by hand', 'store/indexeddb'),
  guard(
    'H18 a page has one transaction at a time',
    'store/indexeddb',
    change('this.#last', 'Promise.resolve()'),
  ),
  guard(
    'H18 one tab at a time claims for a collection',
    'worker/claims',
    change('${name}', '${world.newId()}'),
  ),
  guard("H18 the app's transactions hold no id up", 'addons/sqlite/store'),
  guard('H18 who waits behind a transaction that hangs fails with it', 'store/indexeddb'),

  guard(
    'H19 a clock that is set back stops no check-in',
    'device/check-in',
    change('date >= at && ', ''),
  ),
  guard('H19 no clock says that a start need not ask', 'worker/check-ins', 'const isStart = false'),

  guard(
    'H13 a copied region grants nothing of what came back to it',
    'server/addons/region/region',
  ),
  guard(
    'H13 of what a copied region has just taken it grants nothing',
    'server/addons/region/region',
    'const floor = max',
  ),
  guard(
    'H13 an answer to several claims is judged as the answer to one',
    'server/addons/region/region',
    'return answers',
  ),
  guard(
    'H13 a region drops what its root does not know any more',
    'server/addons/region/region',
    'const results = answered',
  ),
  guard(
    'H20 the token of another region proves nothing',
    'server/addons/region/region',
    change('? name', "? ''"),
  ),
  guard('H13 a region with a claim under way checks in, too', 'server/addons/region/region'),
  guard(
    'H13 a region that shows nothing grants nothing of what came back to it',
    'server/addons/region/region',
  ),
  guard(
    'H20 a root that grants numbers a second time is refused',
    'server/addons/region/region',
    'const isHeld = false',
  ),
  guard(
    'H20 a region whose floors are raised grants nothing that it held before',
    'server/addons/region/region',
  ),
  guard('H20 an etcd that was restored grants nothing', 'server/addons/region/etcd'),
  guard('H20 a log without its file is not begun anew', 'server/sqlite-ledger'),
  guard('H20 a file that was emptied is not begun anew', 'server/sqlite-ledger'),
  guard('H20 a ledger with damaged counters does not start', 'server/sqlite-ledger'),
  guard(
    'H20 all floors are raised from where etcd is, not from where one region is',
    'server/addons/region/etcd',
    change('value.block, by)', 'value.block, 0)'),
  ),
  guard(
    'H20 a collection that a restored etcd does not know begins above the floor',
    'server/addons/region/etcd',
    change('Number(floor ?? 0)', '0'),
  ),
  guard(
    'H20 what the table’s own counter made is granted to nobody',
    'server/addons/orm/commands',
    change('above(Number(id), readSpans(spans))', 'readSpans(spans)'),
  ),
  guard(
    'H20 ids that are in the table already are not granted',
    'server/addons/orm/free-numbers',
    'const inUse: UsedRange[] = []',
  ),
  guard(
    'H20 a binding that nobody has proved is refused where the table has ids',
    'server/addons/orm/prove',
    'const unproven: string[] = []',
  ),
  guard(
    'H20 a binding that nobody has proved takes no first block where the table has ids',
    'server/addons/orm/prove',
  ),
  guard(
    'H20 what a collection counted by itself is no proof of its counter',
    'server/addons/orm/prove',
  ),
  guard(
    'H20 a sequence that fills a column which is not named gives no first block',
    'server/addons/orm/unnamed-columns',
    'const unnamed: string[] = []',
  ),
  guard(
    'H20 a statement that would not see all rows fails',
    'server/addons/orm/id-columns',
    change('= off', '= on'),
  ),
  guard('H20 a view is not asked which ids are in use', 'server/addons/orm/id-columns'),
  guard('H20 one partition is not asked which ids are in use', 'server/addons/orm/id-columns'),
  guard(
    'H20 a counter means the same ids for all collections',
    'server/addons/orm/shared-counters',
    'continue',
  ),
  guard(
    "H20 a counter's numbers up to where it was raised are granted to nobody",
    'server/addons/orm/bound-ledger',
    'const counted = 0',
  ),
  guard(
    'H20 a row is one counter, by whatever names',
    'server/addons/orm/shared-counters',
    'const rows: unknown[] = []',
  ),
  guard(
    'H20 a shared counter gives nothing that another collection has',
    'server/addons/orm/shared-counters',
    'const floor = above',
  ),
  guard(
    'H20 numbers in stock that are in the table already are not granted',
    'server/addons/orm/free-numbers',
    'const unused = line',
  ),
  guard('H20 a hook that goes back grants nothing', 'server/counter-hook'),
  guard(
    'H20 a block of a hook that comes late is a gap',
    'server/counter-hook',
    change('low > max', 'low > max - 2 ** 53'),
  ),
  guard(
    'H20 a hook begins with two blocks that do not contradict each other',
    'server/counter-hook',
    change('isBegun ?', 'true ?'),
  ),
  guard('H20 a hook that contradicts itself does not begin in this process', 'server/counter-hook'),
  guard('H20 a hook whose numbers are no places of blocks grants nothing', 'server/counter-hook'),
  guard('H20 a hook whose first blocks are in use grants nothing', 'server/counter-hook'),
  guard(
    'H20 numbers of a hook that are in use leave for nobody',
    'server/counter-hook',
    change('await isFree(request, hook, grant)', 'grant.low > 0'),
  ),
  guard(
    'H20 a counter in a table gives nothing unless it moves',
    'server/addons/orm/changed-counters',
  ),
  guard(
    'H20 a sequence that was set back stays there: more takes would go past the mark',
    'server/addons/orm/changed-counters',
    change('isBegun ? valueAbove(blocks, BigInt(floor)) : ', ''),
  ),
  guard(
    'H31 a table or sequence that was changed while the server runs is checked again',
    'server/addons/orm/changed-counters',
    change('done.get(counter) === shape', 'done.has(counter)'),
  ),
  guard(
    'H31 a sequence that is altered while it is asked gives nothing',
    'server/addons/orm/changed-counters',
  ),
  guard('H20 a claim tells the highest number seen', 'device/claim', 'lastMax: 0'),
  guard('H20 a grant that overlaps is refused', 'device/claim'),
  guard(
    'H20 nothing is granted at or below what a client saw',
    'server/sqlite-ledger',
    'const last = line.max',
  ),
  guard('H20 a client that saw more than was granted proves an older copy', 'server/sqlite-ledger'),
  guard('H20 a token that is newer than its grant proves an older copy', 'server/ledger/check-in'),
  guard(
    'H20 a token that is not known any more proves one, too',
    'server/ledger/check-in',
    'return false',
  ),
  guard(
    'H20 a token of a spent grant proves an older copy, too',
    'server/ledger/check-in',
    'databases: provenBy(rows, [request], bound)',
  ),
  guard(
    'H20 the token of a return proves an older copy, too',
    'server/restores',
    'const databases = [] as const',
  ),
  guard(
    'H20 the token of an ended series proves an older copy, too',
    'server/restores',
    'const databases = [] as const',
  ),
  guard('H20 a database that was restored grants nothing', 'server/ledger/rules', 'false'),
  guard(
    'H20 a token from before the floors were raised proves nothing any more',
    'server/ledger/rules',
    'return true',
  ),
  guard(
    'H20 floors that were raised too little are raised again',
    'server/ledger/rules',
    'return false',
  ),
  guard(
    'H20 a collection that a copy did not know begins above the floor',
    'server/ledger/rules',
    'return row',
  ),
  guard('H20 an identity that a copy did not know begins above the floor', 'server/ledger/rules'),
  guard(
    'H20 no version from before a floor was raised is expected again',
    'server/sqlite-ledger',
    '...{}',
  ),
  guard(
    'H20 a line that ends before its raised floor grants nothing',
    'server/ledger/restored',
    'return number',
  ),
  guard(
    'H20 no number is granted that another grant holds',
    'server/sqlite-ledger',
    `high: 'n."high"'`,
  ),
  guard(
    'H20 the counter never is below a number of a grant',
    'server/sqlite-ledger',
    'clearTo: high',
  ),
  guard(
    'H20 max does not go below what was forgotten, by numbers that come back',
    'server/sqlite-ledger',
    'return { ...line, max: tail[0] - 1, free: free.slice(0, -1) }',
  ),
  guard(
    'H20 max does not go below what was forgotten, whoever writes the row',
    'server/sqlite-ledger',
  ),
  guard('H20 two claims of one commit get no number both', 'server/sqlite-ledger'),
  guard(
    'H20 a change that could let a number out twice is not saved',
    'server/ledger/sound-changes',
  ),
  guard('H20 an identity that went back gives no number again', 'server/sqlite-ledger'),
  guard('H20 a document of a counter that went back is not written', 'server/sqlite-ledger'),
  guard(
    'H20 a floor that is raised leads above all grants, whose serials none gets again',
    'server/sqlite-ledger',
    'const serial = row.serial',
  ),
  guard('H20 a copy of the file alone has the secret', 'server/backup'),
  guard(
    'H20 a copy that keeps its secret does not say that it has a new one',
    'server/renew-secret',
  ),
  guard('H20 a ledger without its secret does not start', 'server/backup'),
  guard('H20 an absurd jump is refused', 'server/sqlite-ledger'),
  guard(
    'H20 a hi that was seen before is refused',
    'source/next-hi',
    change(/if \(.*\)/, 'if (hi < last)'),
  ),
  guard(
    'H20 a document goes on above what this device has seen',
    'source/document',
    'const from = document.content.Max + 1',
  ),

  guard(
    'H34 who follows begins above all that this device knows',
    'device/which-ledger',
    change('above >= highest(state)', 'true'),
  ),
  guard('H34 a second name stops the device', 'device/which-ledger', 'return state'),
  guard(
    'H34 each database of a ledger is a ledger of its own',
    'client/ledgers',
    change('database ?', 'database === name ?'),
  ),
  guard(
    'H34 nothing that the first ledger granted is issued under the second',
    'device/which-ledger',
    'ranges: state.ranges',
  ),
  guard('H34 between two ledgers nothing is claimed', 'device/which-ledger'),
  guard(
    'H34 between two ledgers nothing is leased',
    'device/which-ledger',
    'const request = asked',
  ),
  guard('H34 only the ledger of what is held grants', 'device/which-ledger'),
  guard('H34 a page that hears of two ledgers issues nothing more', 'client/page-leases'),
  guard(
    'H34 a grant names its ledger, whatever the route was that it came by',
    'worker/plain',
    'return { range }',
  ),
  guard('H34 a claim that another ledger refuses is heard', 'client/ledgers', 'const next = state'),
  guard(
    'H34 a grant is heard before it is used, also one that comes late',
    'worker/claims',
    'const heard = before',
  ),
  guard('H34 a ledger that refuses one of several claims is heard', 'client/ledgers'),
  guard(
    'H34 a collection that is new here is of the ledger of the others',
    'client/ledgers',
    'const known = state',
  ),
  guard(
    'H34 one call starts over with every collection of the database',
    'client/ledgers',
    'const stop = state.stopped',
  ),
  guard('H34 a check-in that another ledger refuses is heard', 'client/ledgers'),
  guard('H34 a ledger without its name does not start', 'server/sqlite-ledger'),
  guard('H34 a device of another ledger is granted nothing', 'server/ledger/rules'),
  guard('H34 a device of another ledger keeps its tokens', 'server/ledger/rules'),
  guard(
    "H34 the counter of an ORM has its ledger's name",
    'server/addons/orm/bound-ledger',
    "authorityOf(bound, key) === 'ledger' ? own : undefined",
  ),
  guard(
    'H34 a ledger follows another one in the step that raises its floors above',
    'server/ledger/rules',
    '...{}',
  ),
  guard('H34 a region between two roots grants nothing', 'server/addons/region/region'),
  guard('H34 a region takes no number of a second root', 'server/addons/region/region'),
  guard(
    'H34 another ledger gives no identity',
    'client/ledgers',
    change('ledgersOf(database)', "ledgersOf('')"),
  ),
  guard('H34 a device of another ledger gets no identity', 'client/ledgers'),
  guard(
    'H34 a region goes on with the kind of root that it has',
    'server/addons/region/region',
    change('!== undefined', '=== null'),
  ),
  guard('H34 a device that had a series of another ledger is given none', 'server/series-routes'),
  guard('H34 the check-in of a series of another ledger changes nothing', 'server/series-routes'),
  guard(
    'H34 between two ledgers no series begins',
    'addons/consecutive/state',
    'if (state.current) return { state, result: undefined }',
  ),
  guard('H34 a series is of the ledger that gave the one before', 'addons/consecutive/state'),
  guard(
    'H34 who follows gives letters above all of this device',
    'addons/consecutive/state',
    change('above >= highest(state)', 'above >= 0'),
  ),
  guard(
    'H34 a second name ends the series, and none begins',
    'addons/consecutive/ledgers',
    'return { state, rows: [] }',
  ),
  guard(
    'H34 an answer to a claim is heard before it is used, also one that comes late',
    'addons/consecutive/ledgers',
    'const heard: ReturnType<typeof hear> = { state, rows: unheard as NumberRow[] }',
  ),
  guard(
    'H34 who refuses a series is heard',
    'addons/consecutive/ledgers',
    'const { state, rows, change }: ReturnType<typeof hear> = { state: before, rows: [] }',
  ),
  guard(
    'H34 an answer of another ledger, or of none, changes nothing of a series',
    'addons/consecutive/ledgers',
    'if (!isSound) throw invalid(url, answer)',
  ),

  guard(
    'H35 what may have moved is not in memory any more',
    'store/late',
    'this.#memory.put(key, apart)',
  ),
  guard(
    'H35 what an older browser has stored in the default storage stays in use',
    'store/home',
    'return open(bucket, true)',
  ),
  guard(
    'H35 buckets that cannot be listed for once may have this database',
    'store/home',
    'const names = await buckets()!.keys().catch((): string[] => [])',
  ),
  guard('H35 a bucket that fails once is no reason for a second home', 'store/home'),
  guard('H35 what two grants hold is not taken over', 'device/unite'),
  guard('H35 a page keeps what it was leased in memory', 'device/unite', 'leases: stored.leases'),
  guard('H35 what a page may have given back is not free', 'device/unite', 'offers: stored.offers'),
  guard('H35 what a ledger grants that the device has left stays out', 'device/unite'),
  guard('H35 to take over the grants of a ledger is to hear it', 'device/unite', 'return united'),
  guard('H35 a storage in memory shows no token', 'device/unite'),
  guard(
    'H35 a claim of a storage in memory shows no token',
    'device/unite',
    change(' || state.isApart', ''),
  ),
  guard('H35 what is reserved is stored', 'client/late-storage'),
  guard(
    'H35 a storage that opens late may be a copy: the server is asked first',
    'client/late-storage',
  ),

  guard(
    "H18 who waits behind a change of an app's store that hangs fails with it",
    'store/own-store',
  ),
  guard("H18 a change of an app's store that comes too late is not made", 'store/own-store'),
  guard("H36 the largest reserve that was declared is the device's", 'device/reserve'),
  guard('H36 a page that closes gives back nothing that the device keeps', 'worker/owner'),

  guard('H21 a claim repeated gets the same grant', 'server/sqlite-ledger'),
  guard('H21 a file that the next start will not find takes no commit', 'server/sqlite-ledger'),
  guard(
    'H30 nobody opens the file but SQLite',
    'server/sqlite-ledger',
    "closeSync(openSync(file, 'a', 0o600))",
  ),
  guard('H30 a file with two names has no ledger', 'server/sqlite-ledger'),
  guard('H30 a file that is mounted alone has no ledger', 'server/sqlite-ledger'),
  guard(
    'H30 a process has one connection to a file',
    'server/sqlite-ledger',
    change('shared.get(identity)', 'undefined as Shared | undefined'),
  ),
  guard(
    'H30 a commit to a file that was moved meanwhile has an unknown outcome',
    'server/sqlite-ledger',
  ),
  guard(
    'H30 a file that was written over takes no commit',
    'server/overwritten',
    change('overwritten()', 'seen'),
  ),
  guard(
    'H30 a process whose shared memory no other one finds commits nothing',
    'server/sqlite-ledger',
  ),
  guard('H30 a process does not open again what it has lost', 'server/sqlite-ledger'),
  guard('H30 a log is not written into a file that was put in its place', 'server/overwritten'),
  guard(
    'H30 the log of a lost file is not written into what stands in its place',
    'server/overwritten',
  ),
  guard('H31 a ledger is made only when somebody says so', 'server/cli'),
  guard('H31 in production a ledger has a place that was named', 'server/production'),
  guard('H31 a name that is not listed makes no object', 'server/addons/durable-object/worker'),
  guard(
    'H31 a database is asked in its own object',
    'server/addons/durable-object/worker',
    'return request',
  ),
  guard(
    'H31 an object answers for its own database',
    'server/addons/durable-object/worker',
    'return undefined',
  ),
  guard(
    'H31 an object opens the ledger of its own database',
    'server/addons/durable-object/worker',
    'return',
  ),
  guard('H26 an operator shows a token', 'server/addons/durable-object/worker'),
  guard('H30 a SQLite that loses commits has no ledger', 'server/sqlite-ledger'),
  guard("H30 a file with two names is no store's", 'addons/sqlite/store'),
  guard("H30 a store's file that the next start will not find gives no id", 'addons/sqlite/store'),
  guard('H30 an app hears that its SQLite can lose commits', 'addons/sqlite/store'),
  guard(
    'H21 SQLite syncs each commit to the disk',
    'server/sqlite-ledger',
    change('FULL', 'NORMAL'),
  ),
  guard(
    'H21 PostgreSQL syncs each commit to the disk',
    'server/postgres-ledger',
    change(/SET LOCAL synchronous_commit = on;\s*/, ''),
  ),
  guard(
    'H21 a document is written only in the version that was read',
    'source/document',
    change("{ 'If-Match': version }", '{}'),
  ),
  guard('H21 a store that ignores the version is found out', 'source/document'),

  guard(
    'H22 of a collection that was dropped no number comes back',
    'server/sqlite-ledger',
    '...row',
  ),
  guard(
    'H22 max does not go below a number of a grant that was forgotten',
    'server/sqlite-ledger',
    'const held = rows.held.get(key)?.high ?? 0',
  ),
  guard(
    'H22 a claim without an id gets no number that was granted before',
    'server/ledger/bound-stock',
    'let rest = join(join(line.free, line.fresh), above(line.floor, fresh))',
  ),
  guard(
    'H20 a claim without an id gets no number at or below what its client saw',
    'server/ledger/bound-stock',
    'const part = takeFrom(fresh, count)',
  ),
  guard('H22 a row that makes no sense is not read', 'server/edited-rows'),
  guard('H22 a ledger is opened with its own secret or not at all', 'server/renew-secret'),
  guard(
    'H22 a ledger knows of a secret outside of it before a server signs with it',
    'server/renew-secret',
  ),
  guard('H22 only the tail of a grant comes back', 'server/sqlite-ledger', 'last < end'),
  guard(
    'H22 a grant token cannot be forged',
    'server/sqlite-ledger',
    'const shown = macOf(signed(body, database), keys[0]!)',
  ),
  guard(
    'H22 a return without a token frees nothing that was claimed with an id',
    'server/sqlite-ledger',
    change('!isPlain(grant) || ', ''),
  ),
  guard(
    'H22 a return without a token is honoured once',
    'server/sqlite-ledger',
    change(' || rows.isReturned', ''),
  ),

  guard(
    'H23 an error keeps its code',
    'core/errors',
    `const { message, cause, ...all } = error
     const details = { ...all, code: 'storage-failed' }`,
  ),

  guard(
    'H28 one transaction takes a number and binds it to its key',
    'addons/consecutive/consecutive',
    (code) =>
      `const looked = await this.#store.transact('readonly', (tx) =>
         look(tx, { ...given, ...given.moment(now) }))
       ${code.replace('await look(tx, make)', 'looked')}`,
  ),
  guard(
    'H28 a number follows one of its own series',
    'addons/consecutive/consecutive',
    change('current.begun !== seen.begun || ', ''),
  ),
  guard(
    "H28 nobody's number is written over",
    'addons/consecutive/consecutive',
    'tx.saveNumber(row)',
  ),
  guard(
    'H28 a link is taken only while the record before it is the last one',
    'addons/consecutive/chain',
    change('!follows(link, draft)', '!link'),
  ),
  guard(
    'H28 no number is made again that was made, or that the server has heard of',
    'addons/consecutive/register',
  ),
  guard('H28 a number that is taken already stores nothing else', 'store/indexeddb'),
  guard(
    'H28 a key has one number',
    'addons/consecutive/consecutive',
    change('known &&', 'known && (known as { never?: true }).never &&'),
  ),
  guard('H28 two numbers have two texts', 'addons/consecutive/strangers'),
  guard('H28 a key has one content', 'addons/consecutive/register'),
  guard('H28 a key has one date', 'addons/consecutive/register'),
  guard('H40 a key has one kind', 'addons/consecutive/register'),
  guard(
    "H40 a record of the device's chain is of one collection",
    'addons/consecutive/device-chain',
    change('collection === sealed', 'sealed.collection === sealed'),
  ),
  guard(
    'H28 the server can read what a check-in tells of closed periods',
    'addons/consecutive/periods',
  ),
  guard('H40 a period that was closed gets no number', 'addons/consecutive/periods'),
  guard(
    'H40 what another device has closed stays closed when this one goes on with the series',
    'addons/consecutive/hand-over',
    'return {}',
  ),
  guard(
    'H40 a closing is kept for the device that goes on with the series',
    'addons/consecutive/hand-over',
    'const periods = closings.slice(closings.length).reduce(withClosing, numbers)',
  ),
  guard(
    'H40 a series whose state has gone does not begin a second time',
    'addons/consecutive/register',
  ),
  guard(
    'H40 what somebody changed in the state is still named after the next number',
    'addons/consecutive/register',
    change('isSound ?', 'isSound || true ?'),
  ),
  guard(
    'H40 a ledger that went back hears of the periods again',
    'addons/consecutive/hand-over',
    change('request.mark !== undefined', "request.mark === 'never'"),
  ),
  guard(
    'H40 what a restored server has forgotten of the periods is told again',
    'addons/consecutive/hand-over',
    change(/again\s+\? periodsOf\(current, all\)\s+:/, ''),
  ),
  guard('H40 what is written has an entry, in the same transaction', 'addons/consecutive/register'),
  guard(
    'H28 a number is of the series that the app names',
    'addons/consecutive/other-series',
    'if (!current) return undefined',
  ),
  guard('H28 a series is begun once', 'addons/consecutive/state'),
  guard('H28 a number that was settled keeps its state', 'addons/consecutive/consecutive'),
  guard('H28 a record that is damaged makes no number', 'addons/consecutive/state'),
  guard('H28 a check-in is sent again under its id', 'addons/consecutive/consecutive'),
  guard(
    'H28 a series that has ended never goes on',
    'addons/consecutive/consecutive',
    "return { ...kept, current: { letter, begun: '', token, heard: 0 } }",
  ),
  guard(
    'H28 an answer permits the numbers that its own check-in named',
    'addons/consecutive/consecutive',
    'return true',
  ),
  guard(
    'H28 a number and the check-in that names it are stored together',
    'addons/consecutive/consecutive',
    'const named = state',
  ),
  guard(
    'H28 a number of a series that has ended is not handed out',
    'addons/consecutive/state',
    'const isSeen = (_: NumberRow) => true',
  ),
  guard('H28 a device that the server refuses makes no number', 'addons/consecutive/consecutive'),
  guard(
    'H28 a copy of a device does not go on with its series',
    'server/ledger/series',
    `if (!shown)
       return { answer: { token: tokens.write(grant), ...givenTo(row) }, changes: {} }`,
  ),
  guard("H28 a name is one device's for ever", 'server/sqlite-ledger'),
  guard(
    'H28 names that differ only in upper and lower case are one',
    'server/ledger/rules',
    'nameKey: name',
  ),
  guard(
    'H28 a device that has changed what the server heard of makes no number',
    'server/ledger/rules',
    'const seen = withLinks(told, request)',
  ),
  guard(
    'H40 a register whose end was cut off does not hide what was heard of it',
    'server/ledger/rules',
    'const isNewest = register !== undefined',
  ),
  guard(
    'H28 a hand-over ends the token of the lost device',
    'server/ledger/rules',
    'changes: { series: [changed] }',
  ),
  guard(
    'H28 a copy of a lost device does not hide behind the hand-over',
    'addons/consecutive/hand-over',
    'const told = { handedOver: done }',
  ),
  guard(
    'H28 a hand-over ends tokens that a restored ledger has forgotten',
    'addons/consecutive/hand-over',
    'const tokenVersion = grant.tokenVersion + 1',
  ),
  guard(
    'H28 of two tills that got a series after restores of one backup, one goes on',
    'addons/consecutive/forgotten-hand-over',
    'return { ...token, isOfOther: false }',
  ),
  guard(
    'H28 two devices that a restored ledger took for one go on with nothing',
    'addons/consecutive/forgotten-hand-over',
    'const row = stored',
  ),
  guard(
    'H28 a token from before a restore is none that was written since',
    'addons/consecutive/restored-copies',
    'const next = before?.next ?? tokenVersion + 1',
  ),
  guard(
    'H28 two copies that a restored ledger cannot tell apart go on with nothing',
    'addons/consecutive/restored-copies',
    change('token, request)', '{ ...token, tokenVersion: 0 }, request)'),
  ),
  guard(
    'H28 two that a restored ledger cannot tell apart do not hide behind a hand-over',
    'addons/consecutive/restored-copies',
    change('token, request)', '{ ...token, tokenVersion: 0 }, request)'),
  ),
  guard(
    'H28 what a restored ledger has forgotten is told, or stated, before a series goes on',
    'server/ledger/rules',
  ),
  guard(
    'H28 a device that knows more than a restored ledger has yet to tell it',
    'server/ledger/rules',
    'toldAfter: restores',
  ),
  guard(
    'H28 what a restored server had forgotten at a hand-over is in doubt',
    'addons/consecutive/hand-over',
    "'again' in answer",
  ),
  guard(
    'H28 what a till made after a forgotten hand-over is in doubt, whatever a person states',
    'addons/consecutive/forgotten-hand-over',
    'const nothing = {}',
  ),
  guard('H28 a hand-over begins above all that was heard', 'server/ledger/rules'),
  guard('H28 a hand-over begins above numbers in doubt', 'server/ledger/rules'),
  guard(
    'H28 a hand-over is of a period that is known, or that a person calls new',
    'server/ledger/rules',
    "const period = asked ?? ''",
  ),
  guard(
    'H28 what a copy or a lost device told counts as heard',
    'server/ledger/rules',
    change('withOthers(row)', 'row'),
  ),
  guard(
    'H28 who goes on with a series begins above what the lost device told before',
    'server/ledger/rules',
    'const row = stored',
  ),
  guard('H28 what a command would do is shown before it is done', 'server/hand-over-command'),
  guard(
    "H28 a hand-over that somebody read is not done to another device's series",
    'server/hand-over-command',
  ),
  guard(
    'H28 who got a series handed over does not lose it by the same command',
    'server/sqlite-ledger',
  ),
  guard(
    'H28 who had a series does not get it handed over',
    'server/ledger/rules',
    change(' || ended?.id === row.grant', ''),
  ),
  guard(
    'H28 a series that was handed over goes on above what was made',
    'addons/consecutive/hand-over',
    change(' ?? lastOf(after, period)', ''),
  ),
  guard(
    'H28 what a device made after its series had ended is doubtful',
    'addons/consecutive/hand-over',
    'const above: typeof seen = handedOver ? [] : seen',
  ),
  guard(
    'H28 a range makes no number above its end, and none after its last day',
    'addons/consecutive/ranges',
    'const range = ranges.at(-1)',
  ),
  guard('H28 a number of a range is given once', 'server/ledger/rules'),
  guard('H28 what is in doubt is kept, whatever the claim is answered', 'server/ledger/rules'),
  guard(
    'H28 after a restore no name is given before those that exist are listed',
    'server/ledger/rules',
  ),
  guard(
    'H28 after a restore no new range is given before those that exist are listed',
    'server/ledger/rules',
  ),
  guard('H28 a hand-over from before a restore is given to nobody', 'server/ledger/rules'),
  guard(
    'H20 who raises the floor of letters has lost series, and lists those that exist',
    'server/ledger/rules',
    'const databases: ReturnType<typeof restoredAgain>[] = []',
  ),
  guard('H20 after a restore a person lists which series exist', 'server/ledger/rules', '...{}'),
  guard('H28 a number that was heard of is in no range that is given later', 'server/ledger/rules'),
  guard(
    'H28 a range is compared with those that were given meanwhile, too',
    'server/ledger/rules',
    change('versionOfLetters(rows, asked) === before', 'true'),
  ),
  guard(
    'H28 a range makes no number below one of the device that had the series before',
    'addons/consecutive/hand-over',
    'const marks: { period: string; number: number }[] = []',
  ),
  guard(
    'H32 a device that nobody tells of its network asks before each number',
    'addons/consecutive/consecutive',
  ),
  guard(
    'H40 a number to begin with is of one series, whose name the server gives once',
    'addons/consecutive/periods',
  ),
  guard(
    'H28 a prefix that comes back goes on above its last number',
    'addons/consecutive/ranges',
    'const highest = current.highest ?? {}',
  ),
  guard(
    'H28 a number without a period is above all that was made before a hand-over',
    'addons/consecutive/hand-over',
    'const least = 0',
  ),
  guard(
    'H28 each check-in tells of the period',
    'addons/consecutive/hand-over',
    'const before: NumberRow | undefined = undefined',
  ),
  guard(
    'H28 a number without a period is above those of ranges',
    'addons/consecutive/ranges',
    'const isAfterRange = false',
  ),
  guard(
    'H28 a device does not go on with a series that it had',
    'addons/consecutive/hand-over',
    'const refused = undefined as HiloError | undefined',
  ),

  guard(
    'H29 a page at rest sets no timer',
    'simulation/rest',
    'export const looksAgain = ({ held }: PageNeeds): boolean => held > 0',
  ),
  guard(
    'H29 a page looks less and less often after a claim that waits',
    'worker/check-ins',
    `if (isClaimUnderWay) {
      retry.succeeded()
      throw new HiloError('server-unreachable', 'A claim is under way.')
    }`,
  ),
  guard(
    'H29 what the server refuses to hear is told less and less often',
    'worker/check-ins',
    'const isAgain = isRepeated(failure)',
  ),
  guard('H31 a server does not choose among databases', 'server/postgres-pool'),
  guard('H24 a record of another collection is refused', 'device/stored'),
  guard('H24 a binding that cannot be read is not left out', 'server/special-names'),
  guard('H24 a binding is for a database that exists', 'server/bound-databases'),
  guard(
    'H24 a secret for a root without that root does not start a server that counts by itself',
    'server/cli',
  ),
  guard(
    'H24 beside bindings, a mistyped database does not count by itself',
    'server/bound-databases',
    'const { databases } = options',
  ),
  guard('H31 a database has one ledger', 'server/postgres-ledger'),
  guard('H31 a ledger starts on whole and plain tables', 'server/changed-tables'),
  guard('H31 a ledger that lost its version is not taken for none', 'server/changed-tables'),
  guard('H31 a statement names the schema of its table', 'server/postgres-schema', 'name'),
  guard(
    'H31 a path that others left in a session decides nothing',
    'server/postgres-schema',
    change(/'.*'/, "'SELECT 1'"),
  ),
  guard(
    'H31 a counter is named with its schema',
    'server/postgres-schema',
    change("'%I.%I', n.nspname, ", "'%I', "),
  ),
  guard(
    'H31 the ledger remembers a counter with its schema',
    'server/postgres-schema',
    change(', description: descriptionOf(counter)', ''),
  ),
  guard(
    'H31 the ledger remembers by which optimizer ids were made',
    'server/addons/orm/prove',
    "const optimizer = ''",
  ),
  guard('H31 another ledger grants nothing', 'server/same-ledger'),
  guard('H31 an older state of the ledger grants nothing', 'server/same-ledger'),
  guard(
    'H31 what a promoted standby lacks does not come by the commits of others',
    'server/standby',
  ),
  guard('H10 a server makes no ids of another ledger', 'server/id-parts'),
  guard(
    'H10 a start that waits goes on with the options that it was given',
    'server/options',
    `checked(serveOptions, given, 'serve')
  const options = given`,
  ),
  guard('H10 a region over etcd makes no ids of another etcd', 'server/addons/region/etcd'),
  guard('H31 an old primary that comes back grants nothing', 'server/standby'),

  guard('H27 a commit with a warning has an unknown outcome', 'server/postgres-pool'),
  guard(
    'H27 a warning is heard, whatever the role asks for',
    'server/postgres-pool',
    "const HEAR_WARNINGS = 'SELECT 1'",
  ),

  guard('H24 the counter is part of the key', 'source/next-hi', change(/ \$\{key\}/, '')),
  guard('H24 two spellings that look the same are not two collections', 'core/names'),
  guard(
    'H24 what nobody sees makes no other collection',
    'core/names',
    'const unseen = undefined as string | undefined',
  ),
  guard('H24 a blank at an end, or of another kind, makes no other collection', 'core/names'),
  guard('H24 a signature that changes makes no new key', 'source/document'),
  guard(
    'H24 the whole address of a document is part of the key',
    'source/document',
    change('addressOf(url, base, EXAMPLE), ', ''),
  ),

  guard(
    'H25 what is no HiLo answer is as good as none',
    'core/failures',
    "code === 'server-unreachable'",
  ),
  guard(
    'H33 nobody but a HiLo server stops this device for long',
    'source/raven-source',
    change(', LONGEST_WAIT_OF_STRANGERS_MS', ''),
  ),
  guard(
    "H33 a stranger's pause ends when the network may be back",
    'worker/check-ins',
    change(' || noAnswer', ''),
  ),
  guard(
    'H25 only a HiLo server refuses',
    'source/raven-source',
    change('isHiloRefusal(body)', 'true'),
  ),
  guard('H25 a page that answers a write has written nothing', 'source/document'),
  guard('H25 only who does not know the route is asked by another one', 'source/raven-source'),
  guard(
    'H25 only a claim that was refused is made by another route',
    'worker/plain',
    change(" || code !== 'server-refused'", ''),
  ),
  guard(
    'H25 a claim that is refused for good is forgotten',
    'worker/claims',
    'const isOurs = true',
  ),
  guard(
    "H25 an app's own source is not waited for without a deadline",
    'source/own',
    'const answer = await callbacks.claim!(target, claim)',
  ),
  guard('H25 who can be served after all is not refused', 'client/callers'),
  guard('H25 callers that wait hear that a repetition was refused', 'device/page/stock-rules'),
  guard(
    'H25 a storage that fails says nothing of the server',
    'client/offline',
    change('.catch(() => undefined)', ''),
  ),
  guard('H25 a release that reaches nobody keeps everything', 'worker/owner'),
  guard('H18 a storage that hung is asked again while a caller waits', 'client/callers'),
  guard(
    'H18 a storage that hung is asked again by reserve and release',
    'client/callers',
    'throw error',
  ),
  guard('H25 what was released is claimed again only for who asks', 'worker/claims'),
  guard(
    'H25 all tabs know that everything was released',
    'client/release',
    'return [state, false]',
  ),
  guard('H25 a release sends nothing for a collection without numbers', 'client/release', ''),
  guard(
    'H25 a page that asks for no number makes no claim',
    'worker/claims',
    change('request.want > 0 && ', ''),
  ),
  guard('H25 who can be served is served', 'client/waiters', change('!mayOvertake', 'true')),
  guard('H25 nobody waits behind a call that has ended', 'client/batch'),
  guard('H25 a pause ends with its timer', 'worker/retry'),
  guard('H25 pauses double', 'worker/claims', change('** failures++', '** 0')),
  guard(
    'H25 nothing is sent before the time that the server named',
    'worker/claims',
    'const pause = () => ownPause - world.now()',
  ),
  guard(
    'H25 a server that cannot serve now is as good as none',
    'source/raven-source',
    change('status > 501', 'false'),
  ),
  guard(
    'H25 claims in the background end at the reserve',
    'worker/reserve',
    'const want = free + missing',
  ),

  guard('H26 a page of another site is refused', 'server/origin'),
  guard('H26 a server is asked under its own names only', 'server/origin'),
  guard('H26 a body says that it is JSON', 'server/origin'),
  guard('H26 a token does what its actions say', 'server/access'),
  guard('H26 who may not ask is told no mistake', 'server/access'),
  guard('H26 whom the application refuses is told no mistake', 'server/access'),
  guard('H26 documents and seeds need a right of their own', 'server/access', 'return true'),
  guard("H26 a function's tokens are checked like a list", 'server/access'),
  guard(
    "H26 no token of a client is the operator's",
    'server/addons/durable-object/worker-options',
  ),
  guard(
    'H26 a claim is answered again only to whom it was answered',
    'server/access',
    'const isForeign = false',
  ),
  guard('H26 a give-back needs what a claim needs', 'server/access', 'const wanted = [] as const'),
  guard(
    'H26 who asks for numbers does not read who has them',
    'server/access',
    'const wanted = [] as const',
  ),
  guard('H26 a token has a budget', 'server/budgets', 'continue'),
  guard('H26 a token has few series', 'server/series-limits'),
  guard('H26 an object that rests forgets no budget', 'server/addons/durable-object/worker'),
  guard(
    'H26 the series of a token are counted one after another',
    'server/series-limits',
    'return work()',
  ),
  guard('H26 a page of series has an end', 'server/series-limits'),
  guard(
    "H13 a copy's collections are looked at, whatever else is in its commit",
    'server/ledger/shared-commits',
    'const looked = new Set([...(rows.selected.collections ?? []), ...copied].map(keyText))',
  ),
  guard('H22 all servers of a ledger sign with its secret', 'server/renew-secret'),
  guard('H26 no request takes more than a whole budget', 'server/budgets'),
  guard('H26 a token has a share of the places', 'server/budgets'),
  guard('H26 a token pays before it waits', 'server/budgets'),
  guard('H26 nobody has more than a part of the work', 'server/gate'),
  guard('H26 turns go round', 'server/gate'),
  guard(
    'H26 of what shares no commit, a token has one at work',
    'server/counts',
    change('devices', 'of(MOST_AT_WORK, PART)'),
  ),
  guard(
    'H26 what shares no commit lets the shared ones through',
    'server/counts',
    change('nextTurn().then(work)', 'work()'),
  ),
  guard(
    'H26 what a request costs is read in its turn',
    'server/counts',
    change('turn(() => readAll(unknown))', 'readAll(unknown)'),
  ),
  guard(
    'H28 the token of a series is replaced by a check-in of the series alone',
    'server/sqlite-ledger',
    'return token',
  ),
  guard(
    'H26 a handler asks for tokens where nobody says who may ask',
    'server/open',
    'if (host === undefined) return opening.hosts',
  ),
  guard('H26 beyond this machine a server asks for tokens', 'server/open'),
  guard('H26 a server with a name for others asks for tokens', 'server/open'),
  guard('H26 a server with an address for others asks for tokens', 'server/open'),
  guard(
    'H26 without tokens a server answers for its own names only',
    'server/open',
    'return hosts',
  ),
  guard('H38 a form is tried before anything starts', 'core/id-format'),
  guard(
    'H38 what an app changes after its call changes nothing',
    'client/read-once',
    'const copy = value',
  ),
  guard('H38 a form is tried with a second number before its first id', 'core/id-format', 'false'),
  guard('H38 an id of a form is read back', 'addons/format'),
  guard('H38 an id is not the one before', 'core/id-format', 'false'),
  guard('H38 the numbers of two series have different texts', 'addons/consecutive/strangers'),
  guard(
    'H38 a number with another id at each call is not tried for ever',
    'addons/consecutive/chain',
  ),
  guard("H38 a change that the app's own store did not keep counts for nothing", 'store/own-store'),
  guard('H38 an id is a text', 'core/id-format', "if (typeof id !== 'string') return id as never"),
  guard(
    'H32 what was used is told first',
    'device/check-in',
    'const spent = state.grants.filter((token) => !next.has(token))',
  ),
  guard('H32 use is noted in the step that leases', 'worker/check-ins', 'return after'),
  guard('H32 the server hears of use', 'addons/sqlite/set-back'),
  guard(
    'H32 a device that starts asks first',
    'worker/check-ins',
    change('known !== undefined && state.answered === known', 'true'),
  ),
  guard(
    'H32 any other load than a reload clears what was left',
    'client/last-answers',
    change('sessionStorage.removeItem(ITEM)', '{}'),
  ),
  guard('H32 what was left is taken once', 'client/last-answers'),
  guard('H32 an engine that was not measured always asks', 'client/last-answers'),
  guard('H32 a server that does not answer is not waited for', 'worker/check-ins'),
  guard(
    'H32 nothing is leased to any page before the answer',
    'worker/check-ins',
    "record.start = 'over'; return waits",
  ),
  guard(
    'H32 the answer to a repetition does not say that this device is no copy',
    'device/check-in',
    change('? rest', '? { ...rest, answered: id }'),
  ),
  guard(
    'H32 who waits is not served by the answer to a repetition',
    'worker/check-ins',
    "await record.updateAndServe('check-in', event)",
  ),
  guard('H32 a claim of an earlier session does not hide a copy', 'worker/check-ins'),
  guard(
    'H32 what the first claim of an earlier session brings is asked for, too',
    'worker/check-ins',
  ),
  guard(
    'H18 a page that is left begins no transaction',
    'client/check-ins',
    'this.link.reportNow()',
  ),
]
