/**
 * Everything that the checker excuses: why a number may have two owners, and why it may be a gap.
 * The checker takes no other reason. Each stands with the sentence of the documents that allows it,
 * and a test looks whether the sentence is there.
 */

const WHY = 'docs/internals/why-it-cannot-duplicate.md'
const GUIDE = 'docs/guide.md'
const RAVEN = 'docs/ravendb.md'

interface Sentence {
  page: string
  says: string
}

const allowed = <Name extends string>(
  excuses: Record<Name, [page: string, says: string]>,
): Readonly<Record<Name, Sentence>> =>
  Object.fromEntries(
    Object.entries<[string, string]>(excuses).map(([name, [page, says]]) => [name, { page, says }]),
  ) as Record<Name, Sentence>

/** Why a number may have two owners. */
export const TWICE = allowed({
  // Copies.
  'made by a copy beside its original': [
    WHY,
    'So both make only what was leased within two such reports, and what one page holds at rest.',
  ],
  'made by a copy where more is broken': [
    WHY,
    'and it goes on if no answer comes within a second.',
  ],
  'made by somebody who copied the storage': [
    WHY,
    'A copy of a profile has the same numbers as its original, also those of a claim under way.',
  ],
  'granted again after a copy gave them back': [
    WHY,
    'What the first copy gave back may have been granted to a third device, which can ' +
      'issue it, too.',
  ],
  'issued by a copy before all of its pages had heard of it': [
    WHY,
    'but another page of that device stops only when it is told, or at its next exchange.',
  ],
  'given back by a copy before all of its pages had heard of it': [
    WHY,
    'Until then it may give back numbers that the other copy has issued.',
  ],
  // Devices that go back.
  'made again before the server had heard of them': [
    WHY,
    'what was leased in the last two reports before it went back, or before its last page was ' +
      'closed',
  ],
  'made again where the app had switched the network off': [
    GUIDE,
    'Between `hilo.goOffline()` and `hilo.goOnline()`, nothing is sent.',
  ],
  'made again where more is broken': [WHY, 'and it goes on if no answer comes within a second.'],
  // Servers that go back.
  'granted again by a restored server': [
    WHY,
    'It does not know what it granted after the backup, and may grant that again until a device',
  ],
  'issued twice after a restored server granted them again': [
    WHY,
    'It does not know what it granted after the backup, and may grant that again until a device',
  ],
  'made again by a copy that is as old as the backup': [
    WHY,
    'So is a copy of a device that is as old as the backup: it makes again what its device has ' +
      'made since, until that one checks in.',
  ],
  'given back late, after a restore made their token valid again': [
    WHY,
    'It also takes old tokens for valid: a give-back that comes late can free numbers ' +
      'that others ' +
      'were granted, or that its own device went on using.',
  ],
  // RavenDB nodes.
  'given back at another node, before its first answer': [
    WHY,
    'A give-back can be sent after the address has changed, before the page hears of the new node.',
  ],
  'granted again after a give-back at another node': [
    WHY,
    "The new node takes it for its own and may free another device's numbers.",
  ],
  'issued twice after a give-back at another node': [
    WHY,
    "The new node takes it for its own and may free another device's numbers.",
  ],
  // Two ledgers.
  'granted by two ledgers': [WHY, 'Two ledgers that answer at one address grant the same numbers.'],
  'issued by devices of two ledgers': [WHY, 'Devices that each hear only one of them cannot know.'],
  'issued from memory by a device that has stopped': [
    WHY,
    'A page whose storage has not opened yet does not know that its device has stopped.',
  ],
  // Series.
  'a receipt of two copies, one of which was told': [
    WHY,
    'such a number is handed out with `heard: false`, and the copy that checks in second reports ' +
      'it as doubtful',
  ],
  'a receipt of a device that lost its storage': [
    'docs/document-numbers.md',
    'it does not know its old series any more',
  ],
  'a receipt of a hand-over that a restore had forgotten': [
    'docs/series-at-the-server.md',
    'What the lost till makes before the server hears of the other one may come twice, for as ' +
      'long as that one is silent.',
  ],
  'a receipt of a server that did not know of its restore': [
    'docs/series-at-the-server.md',
    'A server that does not know of its restore hands over what the backup has, and the other ' +
      'till makes the last numbers again.',
  ],
})
export type Twice = keyof typeof TWICE

/** Why a number may be a gap. */
export const LOST = allowed({
  // Pages that end.
  'page crashed': [WHY, 'its lease is a gap: at most 16 numbers when it was idle'],
  'browser killed': [
    'docs/getting-started.md',
    "After a crash, or when you quit the whole browser, that's a gap.",
  ],
  'power cut': [
    WHY,
    'After a crash between two steps, the number has its old owner, its new owner, or ' +
      'none (a gap).',
  ],
  'service worker stopped': [WHY, 'its lease is a gap: at most 16 numbers when it was idle'],
  'closed while busy': [WHY, 'what a page that is silent now held is a gap'],
  'gone while busy': [
    WHY,
    'After a crash between two steps, the number has its old owner, its new owner, or ' +
      'none (a gap).',
  ],
  'unmounted while busy': [
    WHY,
    'After a crash between two steps, the number has its old owner, its new owner, or ' +
      'none (a gap).',
  ],
  'worker lost': [
    WHY,
    'After a crash between two steps, the number has its old owner, its new owner, or ' +
      'none (a gap).',
  ],
  // Storage.
  'storage evicted': [GUIDE, 'If it loses them, the numbers are a gap, and never granted again.'],
  'storage failed': [GUIDE, 'If it loses them, the numbers are a gap, and never granted again.'],
  'kept in memory': [GUIDE, 'When the page closes, unused numbers go back to the server'],
  'a note in localStorage that was read late': [
    WHY,
    'The device refuses a grant that overlaps what it holds',
  ],
  'its id was refused': [
    'docs/formats.md',
    'or if it throws, the call rejects with `invalid-argument`, and the number is a gap',
  ],
  // Copies and devices that go back.
  'copied or set back': [
    'docs/reference.md',
    'Dropped because this device turned out to be a copy.',
  ],
  'copied by somebody': [
    WHY,
    'once a copy is found, the server grants to nobody what came back, or will come ' +
      'back, of that ' +
      'grant',
  ],
  'claimed by somebody': ['README.md', 'Ids are unique, not consecutive'],
  // Servers.
  'database restored': ['docs/backup-and-restore.md', 'Nothing below is granted again.'],
  'granted again': [WHY, 'The device refuses a grant that overlaps what it holds'],
  'a claim refused by a gateway': [
    WHY,
    'A claim that is refused for good is forgotten, and the next one is smaller',
  ],
  'a claim granted twice': [
    WHY,
    'So each may grant the same claim, and the device takes one answer',
  ],
  'checked in at another node': [
    WHY,
    'If a node takes a device for a copy, it drops what the other one granted, too.',
  ],
  'taken for a copy by another node': [
    WHY,
    'If a node takes a device for a copy, it drops what the other one granted, too.',
  ],
  'more grants than a check-in shows': [
    'docs/protocol.md',
    'A request has at most 100 `grants` and 100 `spent`',
  ],
  'its collection was dropped': [
    'docs/server-reference.md',
    'forgets a database, or a collection of it',
  ],
  'its token has a secret of before': [
    'docs/security.md',
    'Until then, what such a device gives back is a gap, and a copy of it is not found.',
  ],
  'two ledgers answered': [
    WHY,
    'What a claim under way brings to a device that has stopped is a gap',
  ],
  // Without tokens.
  'given back without a token': [RAVEN, 'a gap: it is sent at most once'],
  'released without a token': [RAVEN, 'a gap: it is sent at most once'],
  'given back to a server without tokens, which did not take it': [
    RAVEN,
    'a gap: RavenDB takes back only the end of its counter',
  ],
  "a counter of the app's own": [
    'docs/other-counters.md',
    'Nothing is given back, an answer that was lost is a gap',
  ],
})
export type Lost = keyof typeof LOST
