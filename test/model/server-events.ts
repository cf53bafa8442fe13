/**
 * What reaches the server, and what happens to it. The ledger's steps are the production code;
 * RavenDB's rules and those of an app's own counter are written down here.
 */
import type { CheckInResult } from '../../server/src/ledger/ledger.js'
import type { CheckInAnswer } from '../../src/core/wire.js'
import {
  type Server,
  serverChecksIn,
  serverClaims,
  serverRaisesFloors,
  serverTakesBack,
  serverWrites,
} from './server.js'
import {
  type Answered,
  type Bounds,
  type Message,
  merged,
  numbersBetween,
  type System,
  send,
  spend,
} from './state.js'
import { problemOfGrant, withShown, withSpent } from './truth.js'

type Request = Extract<Message, { to: 'server' }>
type Asked = Pick<Bounds, 'authority' | 'range'>

export function reach(
  system: System,
  message: Request,
  bounds: Asked,
  newId: () => string,
): System {
  switch (message.kind) {
    case 'claim':
      return bounds.authority === 'own' || bounds.authority === 'plain'
        ? claimAtLedger(system, message, bounds, newId)
        : claimElsewhere(system, message, bounds)
    case 'write':
      return writeDocument(system, message)
    case 'check-in':
      return checkIn(system, message)
    case 'give-back': {
      const server =
        bounds.authority === 'ravendb'
          ? ravenTakesBack(system.server, message)
          : serverTakesBack(system.server, { token: undefined, ...message }).server
      return { ...system, server }
    }
  }
}

function checkIn(
  system: System,
  { device, request: { id, grants, spent = [] } }: Extract<Request, { kind: 'check-in' }>,
): System {
  const { server, results } = serverChecksIn(system.server, id, grants, spent)
  const answer: CheckInAnswer = { grants: results.map(resultOf) }
  const after = withSpent(system, withShown(system, { ...system, server }, grants, results), spent)
  return send(after, { to: 'device', kind: 'check-in', device, id, answer })
}

function claimAtLedger(
  system: System,
  { device, request: { id, lastMax, shown = [] } }: Extract<Request, { kind: 'claim' }>,
  { authority, range: count }: Asked,
  newId: () => string,
): System {
  const hasTokens = authority === 'own'
  const message = { id: hasTokens ? id : undefined, count, lastMax, shown }
  const { server, outcome } = serverClaims(system.server, message, newId)
  const results = 'grant' in outcome ? outcome.results : []
  const after = withShown(system, { ...system, server }, shown, results)
  // Status 503: the device keeps its claim, and sends it again later.
  if ('refused' in outcome && outcome.refused === 'restored') return after
  const answer: Answered =
    'refused' in outcome
      ? { refused: outcome.refused }
      : {
          low: outcome.grant.low,
          high: outcome.grant.high,
          token: hasTokens ? outcome.grant.token : undefined,
          results: results.map(resultOf),
        }
  const sent = send(withCopied(after, id, answer), {
    to: 'device',
    kind: 'claim',
    device,
    id,
    answer,
  })
  const granted = Math.max(sent.granted, server.collection.max)
  const problem = sent.problem ?? problemOfGrant(system, after, outcome, message)
  return { ...sent, granted, problem }
}

/** Both copies of a profile get what a copied claim was granted. Without tokens each has others. */
function withCopied(system: System, id: string, answer: Answered): System {
  const { excuses } = system
  if (!('token' in answer && answer.token) || !excuses.copiedClaims.includes(id)) return system
  const copied = merged(excuses.copied, numbersBetween(answer.low, answer.high))
  return { ...system, excuses: { ...excuses, copied } }
}

function claimElsewhere(
  system: System,
  { device, request: { id, lastMax } }: Extract<Request, { kind: 'claim' }>,
  { authority, range }: Asked,
): System {
  const { max, version } = system.server.collection
  if (authority === 'document') {
    // The device has read it, and its write is under way, as in `documentSource`.
    const low = Math.max(max, lastMax) + 1
    const write = { low, max: low + range - 1, version }
    return send(system, { to: 'server', kind: 'write', device, id, write })
  }
  const low = (authority === 'ravendb' ? Math.max(max, lastMax) : max) + 1
  const collection = { ...system.server.collection, max: low + range - 1 }
  // As `nextHiSource` checks it.
  const answer: Answered =
    authority === 'counter' && lastMax >= low
      ? { refused: 'went backwards' }
      : { low, high: low + range - 1, token: undefined, results: [] }
  const after = { ...system, server: { ...system.server, collection } }
  return send(after, { to: 'device', kind: 'claim', device, id, answer })
}

function writeDocument(
  system: System,
  { device, id, write }: Extract<Request, { kind: 'write' }>,
): System {
  const server = serverWrites(system.server, write)
  if (server) {
    const answer = { low: write.low, high: write.max, token: undefined, results: [] }
    return send({ ...system, server }, { to: 'device', kind: 'claim', device, id, answer })
  }
  // Another device was faster: this one reads the document again.
  const { claim } = system.devices[device]!.stored
  if (claim?.id !== id) return system
  return send(system, { to: 'server', kind: 'claim', device, request: claim })
}

/** Any client that names the right end sets the counter back. */
function ravenTakesBack(server: Server, { end, last }: { end: number; last: number }): Server {
  if (server.collection.max !== end || last > end) return server
  return { ...server, collection: { ...server.collection, max: last } }
}

/** A request that no device of ours has sent. */
export function forge(system: System, end: number, last: number): System {
  const { server } = serverTakesBack(system.server, { end, last, token: undefined })
  return { ...spend(system, 'forgeries'), server }
}

export function setBack(system: System, max: number): System | undefined {
  const server = serverWrites(system.server, { max, version: undefined })
  return server && { ...spend(system, 'writes'), server }
}

export function restore(system: System): System {
  const { backup, server, truth } = system
  const unchanged = new Set(
    backup!.grants.map(({ id, tokenVersion, high }) => `${id} ${tokenVersion} ${high}`),
  )
  // Since the backup: what was granted, or whose token was replaced, or what came back.
  const lost = [
    ...numbersBetween(backup!.collection.max + 1, server.collection.max),
    ...server.grants
      .filter(({ id, tokenVersion, high }) => !unchanged.has(`${id} ${tokenVersion} ${high}`))
      .flatMap(({ low, firstHigh }) => numbersBetween(low, firstHigh)),
  ]
  const unknownToServer = [...new Set([...system.excuses.unknownToServer, ...lost])]
  const isKnown = new Set([...backup!.grants, ...backup!.tombstones].map(({ id }) => id))
  const lostGrants = [...server.grants, ...server.tombstones]
    .map(({ id }) => id)
    .filter((id) => !isKnown.has(id))
  return {
    ...spend(system, 'restores'),
    server: backup!,
    backup: undefined,
    excuses: { ...system.excuses, unknownToServer },
    truth: {
      lostGrants: [...truth.lostGrants, ...lostGrants],
      wasRestored: true,
      isRaised: false,
      foundCopied: [],
      spent: [],
      pair: undefined,
    },
  }
}

export function raiseFloors(system: System): System {
  const by = Math.max(1, system.granted - system.server.collection.highWater)
  const server = serverRaisesFloors(system.server, by)
  return { ...system, server, truth: { ...system.truth, isRaised: true } }
}

function resultOf(result: CheckInResult): CheckInAnswer['grants'][number] {
  if (result === 'superseded') return { superseded: true }
  if (result === 'dropped') return { dropped: true }
  if (result === 'unknown') return { unknown: true }
  return { token: result.token, high: result.high }
}
