/**
 * The whole system as one value: a server, its backup, devices with their pages, and the messages
 * under way. Every step that decides about numbers is the production function; what stands here is
 * who calls it when, and what can go wrong in between.
 */

import type { CheckInFate } from '../../server/src/ledger/ledger.js'
import { applyCheckIn, applyShown, beginCheckIn } from '../../src/core/check-in.js'
import { addGrant, beginClaim, dropClaim, exchange, settle } from '../../src/core/device.js'
import { total } from '../../src/core/range.js'
import {
  type DeviceClaim,
  type DeviceState,
  type Exchange,
  type ExchangeNote,
  emptyState,
  type Lease,
  type Note,
  type Offer,
} from '../../src/core/state.js'
import { readState } from '../../src/core/stored.js'
import type { CheckInAnswer, CheckInRequest } from '../../src/core/wire.js'
import { writeOffPages } from '../../src/core/write-off.js'
import type { Model, Step } from './explorer.js'
import { fingerprint, isSameMessage } from './fingerprint.js'
import {
  newServer,
  type Server,
  serverChecksIn,
  serverClaims,
  serverPrunes,
  serverRaisesFloors,
  serverTakesBack,
} from './server.js'

/** How often each event may happen in one history: what makes the number of states finite. */
export interface Bounds {
  devices: number
  pages: number
  /** Numbers of one claim. */
  range: number
  /** Numbers a page leases at once. */
  lease: number
  /**
   * `own`: this package's server. `plain`: the same, and the client uses RavenDB's protocol only.
   * `ravendb`: no tokens, and any return with the right end sets the counter back. `counter`: a
   * source of the app's own, which is asked for a range and takes nothing back.
   */
  authority: 'own' | 'plain' | 'ravendb' | 'counter'
  claims: number
  issues: number
  exchanges: number
  exits: number
  kills: number
  giveBacks: number
  checkIns: number
  /** Messages that are delivered twice. */
  repeats: number
  /** Messages that are lost. */
  losses: number
  copies: number
  restores: number
  /** The device loses its power, and all notes that are not on the disk yet. */
  powerCuts: number
  /** Time passes, and the server forgets old grants. */
  prunes: number
}

interface Page {
  id: string
  leases: (Lease & { next: number })[]
  offers: Offer[]
  /** Given up, and not confirmed by the device yet. */
  outbox: Note[]
  /** An exchange that the device has done, and whose answer is not here yet. */
  asked?: { id: string; takeBack: string[]; leases: Lease[]; offers: Offer[] } | undefined
  /** In the back/forward cache. */
  isFrozen?: true | undefined
}

export interface Device {
  name: string
  stored: DeviceState
  pages: Page[]
  /** What pages left in IndexedDB. */
  notes: Note[]
  /** The same in `localStorage`: it is read when a page opens. */
  local: Note[]
  /** Pages that were killed and that nobody has written off. */
  dead: string[]
}

export type Message =
  | { to: 'server'; kind: 'claim'; device: number; request: DeviceClaim }
  | { to: 'server'; kind: 'check-in'; device: number; request: CheckInRequest }
  | { to: 'server'; kind: 'give-back'; end: number; last: number; token?: string | undefined }
  | { to: 'device'; kind: 'claim'; device: number; id: string; answer: Answered }
  | { to: 'device'; kind: 'check-in'; device: number; id: string; answer: CheckInAnswer }

type Answered =
  | { low: number; high: number; token?: string | undefined; fates: CheckInAnswer['leases'] }
  | { refused: string }

export type Left = Omit<Bounds, 'devices' | 'pages' | 'range' | 'lease' | 'authority'>

/** Limits that the documentation names, each of which allows a number twice. */
interface Excuses {
  /** Held by a device when its profile was copied: either copy may issue it. */
  copied: number[]
  /** Claims that were stored when their profile was copied: the grant is of both copies. */
  copiedClaims: string[]
  /** Granted by a server after the backup that was restored later. */
  unknownToServer: number[]
}

export interface System {
  server: Server
  backup?: Server | undefined
  devices: Device[]
  messages: Message[]
  /** Each number that was issued, with the devices that did. */
  issued: [number: number, devices: string[]][]
  excuses: Excuses
  /** The highest number that was ever granted, by the server or by the one it was restored over. */
  granted: number
  /** What went wrong in the last event, if something did. */
  problem?: string | undefined
  left: Left
  /** How many names were made up. */
  names: number
}

const PREFIX = 'orders/'
const RESERVE = 0

export function hiloModel(bounds: Bounds): Model<System> {
  const { devices, pages, range, lease, authority, ...left } = bounds
  const hasTokens = authority === 'own'

  const initial = (): System => ({
    server: newServer(),
    devices: Array.from({ length: devices }, (_, i) => newDevice(String.fromCharCode(97 + i))),
    messages: [],
    issued: [],
    excuses: { copied: [], copiedClaims: [], unknownToServer: [] },
    granted: 0,
    left,
    names: 0,
  })

  function next(system: System): Step<System>[] {
    const steps: Step<System>[] = []
    const { names } = system
    let ids = 0
    const newId = () => `~${names + ids++}`
    const before = places(system)
    const add = (event: string, after: System | undefined, reason?: string) => {
      const made = names + ids
      ids = 0
      if (!after) return
      const lost = reason === undefined ? lostBetween(before, after) : undefined
      const problem = lost ? `${lost} left no trace.` : after.problem
      steps.push({ event, state: { ...after, names: made, problem } })
    }
    for (const [d, device] of system.devices.entries()) {
      if (device.pages.length < pages)
        add(`A page opens on device ${device.name}.`, openPage(system, d, newId))
      for (const [p, page] of device.pages.entries()) {
        const who = `Page ${p + 1} of device ${device.name}`
        if (page.isFrozen) {
          add(`${who} comes back from the cache.`, thaw(system, d, p))
          add(`${who}, in the cache, is thrown away.`, remove(system, d, p))
          continue
        }
        add(`${who} issues a number.`, issue(system, d, p))
        if (!page.asked) add(`${who} asks its device for numbers.`, ask(system, d, p, lease, newId))
        if (!page.asked && (page.outbox.length > 0 || page.offers.length > 0))
          add(
            `${who} tells its device what it gave up.`,
            ask(system, d, p, 0, newId),
            hasTokens ? undefined : 'offer',
          )
        if (page.asked) add(`${who} hears its device's answer.`, hear(system, d, p))
        add(`${who} parks: it is hidden.`, park(system, d, p))
        for (const kept of NOTES)
          for (const cached of [false, true])
            add(
              `${who} is left${cached ? ', into the cache' : ''}; its note is ${kept}.`,
              exit(system, d, p, kept, cached),
            )
        add(`${who} is killed.`, kill(system, d, p))
      }
      if (device.dead.length > 0)
        add(`Device ${device.name} writes its dead pages off.`, writeOff(system, d), 'crash')
      if (system.left.powerCuts > 0)
        for (const local of [[], device.local])
          if (local === device.local || device.local.length > 0)
            add(`Device ${device.name} loses its power.`, cutPower(system, d, local))
      add(`Device ${device.name} sends a claim.`, sendClaim(system, d, newId))
      if (hasTokens) add(`Device ${device.name} sends a check-in.`, sendCheckIn(system, d, newId))
      if (system.devices.length < devices + 1)
        add(`The profile of device ${device.name} is copied.`, copy(system, d))
    }
    for (const [m, message] of system.messages.entries()) {
      if (system.messages.some((other, i) => i < m && isSameMessage(other, message))) continue
      const what = describe(message, system)
      const reason = mayLose(system, message)
      add(`${what} arrives.`, deliver(without(system, m), message, newId), reason)
      // A request that is no GET or POST is not sent again by a network.
      if (system.left.repeats > 0 && (message.kind !== 'give-back' || authority !== 'ravendb'))
        add(
          `${what} arrives, and will once more.`,
          deliver(spend(system, 'repeats'), message, newId),
          reason,
        )
      if (system.left.losses > 0)
        add(`${what} is lost.`, spend(without(system, m), 'losses'), hasTokens ? undefined : 'lost')
    }
    if (system.left.prunes > 0)
      for (const alsoUnheard of [false, true])
        add(
          `The server forgets ${alsoUnheard ? 'what it heard nothing of' : 'what is settled'}.`,
          { ...spend(system, 'prunes'), server: serverPrunes(system.server, alsoUnheard) },
          'forgotten',
        )
    if (system.left.restores > 0 && !system.backup)
      add('The server is backed up.', { ...system, backup: system.server })
    if (system.left.restores > 0 && system.backup)
      add('The server is restored from its backup.', restore(system), 'restore')
    if (
      system.server.collection.floor < system.granted &&
      system.excuses.unknownToServer.length > 0
    )
      add('The operator raises the floors.', floorsRaised(system), 'restore')
    return steps
  }

  /**
   * Why this answer may lose numbers: a device was copied, or a grant has no token.
   */
  function mayLose(system: System, message: Message): string | undefined {
    if (message.kind === 'check-in') return message.to === 'device' ? 'fork' : 'copied'
    const mayBeForked = system.left.copies < left.copies || system.left.restores < left.restores
    if (message.kind === 'claim' && mayBeForked) return 'fork'
    // A device counts an offer as held until it reads the note of the page that has sent it. Where
    // the give-back is faster than the claim, the server skips what came back.
    if (message.kind === 'claim' && system.left.giveBacks < left.giveBacks) return 'overtaken'
    if (message.kind === 'give-back') return hasTokens ? undefined : 'unknown fate'
    return hasTokens ? undefined : 'repeated answer'
  }

  function openPage(system: System, d: number, newId: () => string): System {
    const page: Page = { id: newId(), leases: [], offers: [], outbox: [] }
    return withDevice(system, d, (device) => ({
      ...device,
      pages: [...device.pages, page],
      notes: [...device.notes, ...device.local],
      local: [],
    }))
  }

  function issue(system: System, d: number, p: number): System | undefined {
    const { leases } = system.devices[d]!.pages[p]!
    const at = leases.findIndex(({ next: following, range: { to } }) => following <= to)
    if (at < 0 || system.left.issues === 0) return undefined
    const number = leases[at]!.next
    const used = withPage(spend(system, 'issues'), d, p, (page) => ({
      ...page,
      leases: page.leases.map((each, i) => (i === at ? { ...each, next: number + 1 } : each)),
    }))
    return withIssued(used, number, system.devices[d]!.name)
  }

  /** The worker does the exchange at once, in one transaction; its answer is under way. */
  function ask(
    system: System,
    d: number,
    p: number,
    want: number,
    newId: () => string,
  ): System | undefined {
    if (system.left.exchanges === 0) return undefined
    const device = system.devices[d]!
    const page = device.pages[p]!
    if (want > 0 && page.leases.some(({ next: following, range: { to } }) => following <= to))
      return undefined
    const id = `${page.id}:${newId()}`
    const takeBack = page.offers.map((offer) => offer.id)
    const spent = page.leases.filter(({ next: following, range: { to } }) => following > to)
    const request: Exchange = {
      page: page.id,
      id,
      want,
      notes: [...page.outbox, ...spent.map(noteOf)],
      cuts: [],
      takeBack,
      offer: want === 0,
    }
    const settled = settle(device.stored, device.notes)
    const { state, leases, offers } = exchange(settled, request, settled.reserve ?? RESERVE)
    if (want > 0 && leases.length === 0 && request.notes.length + device.notes.length === 0)
      return undefined
    const asking = withPage(spend(system, 'exchanges'), d, p, (before) => ({
      ...before,
      outbox: [],
      offers: [],
      leases: before.leases.filter((each) => !spent.includes(each)),
      asked: { id, takeBack, leases, offers },
    }))
    return withDevice(asking, d, (before) => ({ ...before, stored: state, notes: [] }))
  }

  function hear(system: System, d: number, p: number): System {
    return withPage(system, d, p, ({ asked, ...page }) => ({
      ...page,
      leases: [
        ...page.leases,
        ...asked!.leases.map((each) => ({ ...each, next: each.range.from })),
      ],
      offers: [...page.offers, ...asked!.offers],
    }))
  }

  function park(system: System, d: number, p: number): System | undefined {
    const page = system.devices[d]!.pages[p]!
    if (page.leases.length === 0 && !page.asked) return undefined
    return withPage(system, d, p, (before) => ({
      ...before,
      leases: [],
      asked: undefined,
      outbox: [...before.outbox, ...before.leases.map(noteOf), ...cancelled(before)],
    }))
  }

  /** The page gives its offers back, leaves a note of the rest, and is gone or in the cache. */
  function exit(
    system: System,
    d: number,
    p: number,
    kept: (typeof NOTES)[number],
    isCached: boolean,
  ): System | undefined {
    if (system.left.exits === 0) return undefined
    const page = system.devices[d]!.pages[p]!
    const isKept = kept !== LOST
    if (!isKept && system.left.losses === 0) return undefined
    const sends = page.offers.length > 0
    if (sends && system.left.giveBacks === 0) return undefined
    const notes: Note[] = [
      ...page.outbox,
      ...page.leases.map(noteOf),
      ...cancelled(page),
      ...page.offers.map(({ id, range: { from } }) => ({
        lease: id,
        next: from,
        givenBack: true as const,
      })),
    ]
    let after = spend(system, 'exits')
    if (sends) after = spend(after, 'giveBacks')
    if (!isKept && notes.length > 0) after = spend(after, 'losses')
    if (kept !== IN_BOTH && notes.length === 0) return undefined
    const sent = page.offers.map(
      ({ range: { from, to, token } }): Message => ({
        to: 'server',
        kind: 'give-back',
        end: to,
        last: from - 1,
        token,
      }),
    )
    after = { ...after, messages: [...after.messages, ...sent] }
    after = withDevice(after, d, (device) => ({
      ...device,
      notes: isKept && kept !== IN_LOCAL ? [...device.notes, ...notes] : device.notes,
      local: isKept && kept !== IN_INDEXED_DB ? [...device.local, ...notes] : device.local,
    }))
    // What lies in `localStorage` alone nobody finds before a page opens: others may write it off.
    if (!isCached) return gone(after, d, p, isKept && kept !== IN_LOCAL)
    return withPage(after, d, p, ({ id }) => ({
      id,
      leases: [],
      offers: [],
      outbox: notes,
      isFrozen: true,
    }))
  }

  function thaw(system: System, d: number, p: number): System {
    return withPage(system, d, p, ({ isFrozen: _, ...page }) => page)
  }

  const remove = (system: System, d: number, p: number): System => gone(system, d, p, false)

  /** Every transaction is strict, so what is stored stays. Notes are not waited for. */
  function cutPower(system: System, d: number, local: Note[]): System {
    return withDevice(spend(system, 'powerCuts'), d, (device) => ({
      ...device,
      pages: [],
      notes: [],
      local,
      dead: [...device.dead, ...device.pages.map(({ id }) => id)],
    }))
  }

  function kill(system: System, d: number, p: number): System | undefined {
    if (system.left.kills === 0) return undefined
    return gone(spend(system, 'kills'), d, p, false)
  }

  function gone(system: System, d: number, p: number, isSettled: boolean): System {
    return withDevice(system, d, (device) => ({
      ...device,
      pages: device.pages.filter((_, i) => i !== p),
      dead: isSettled ? device.dead : [...device.dead, device.pages[p]!.id],
    }))
  }

  function writeOff(system: System, d: number): System {
    return withDevice(system, d, (device) => ({
      ...device,
      stored: writeOffPages(settle(device.stored, device.notes), new Set(device.dead)),
      notes: [],
      dead: [],
    }))
  }

  function sendClaim(system: System, d: number, newId: () => string): System | undefined {
    const device = system.devices[d]!
    if (system.left.claims === 0) return undefined
    const settled = settle(device.stored, device.notes)
    const { state, claim } = beginClaim(settled, newId(), lease, RESERVE)
    if (!claim || total(settled.ranges) >= lease) return undefined
    const isUnderWay = system.messages.some(
      (message) =>
        message.kind === 'claim' &&
        (message.to === 'server' ? message.request.id : message.id) === claim.id,
    )
    if (isUnderWay) return undefined
    const sending = withDevice(spend(system, 'claims'), d, (before) => ({
      ...before,
      stored: state,
      notes: [],
    }))
    return send(sending, { to: 'server', kind: 'claim', device: d, request: claim })
  }

  function sendCheckIn(system: System, d: number, newId: () => string): System | undefined {
    const device = system.devices[d]!
    if (system.left.checkIns === 0) return undefined
    const { state, request } = beginCheckIn(settle(device.stored, device.notes), newId())
    if (!request) return undefined
    const isUnderWay = system.messages.some(
      (message) =>
        message.kind === 'check-in' &&
        (message.to === 'server' ? message.request.id : message.id) === request.id,
    )
    if (isUnderWay) return undefined
    const sending = withDevice(spend(system, 'checkIns'), d, (before) => ({
      ...before,
      stored: state,
      notes: [],
    }))
    return send(sending, { to: 'server', kind: 'check-in', device: d, request })
  }

  function copy(system: System, d: number): System | undefined {
    if (system.left.copies === 0) return undefined
    const device = system.devices[d]!
    const name = String.fromCharCode(97 + system.devices.length)
    const twin: Device = { ...device, name, pages: [], dead: device.pages.map(({ id }) => id) }
    const after = spend(system, 'copies')
    const copied = [...new Set([...after.excuses.copied, ...numbersOf(device)])].sort(
      (a, b) => a - b,
    )
    const { claim } = device.stored
    const copiedClaims = [...after.excuses.copiedClaims, ...(claim ? [claim.id] : [])]
    return {
      ...after,
      devices: [...after.devices, twin],
      excuses: { ...after.excuses, copied, copiedClaims },
    }
  }

  function restore(system: System): System {
    const { backup, server } = system
    const lost = numbersBetween(backup!.collection.max + 1, server.collection.max)
    const unknownToServer = [...new Set([...system.excuses.unknownToServer, ...lost])]
    return {
      ...spend(system, 'restores'),
      server: backup!,
      backup: undefined,
      excuses: { ...system.excuses, unknownToServer },
    }
  }

  function deliver(system: System, message: Message, newId: () => string): System | undefined {
    if (message.to === 'device') return deliverAnswer(system, message)
    switch (message.kind) {
      case 'claim':
        return deliverClaim(system, message, newId)
      case 'check-in': {
        const { id, leases, spent = [] } = message.request
        const shown = leases.map(({ lease: token, next: following }) => ({
          token,
          next: following,
        }))
        const { server, fates } = serverChecksIn(system.server, id, shown, spent)
        const answer: CheckInAnswer = { leases: fates.map(fateOf) }
        return send(
          { ...system, server },
          { to: 'device', kind: 'check-in', device: message.device, id, answer },
        )
      }
      case 'give-back':
        return {
          ...system,
          server:
            authority === 'ravendb'
              ? ravenTakesBack(system.server, message)
              : serverTakesBack(system.server, { token: undefined, ...message }).server,
        }
    }
  }

  function deliverClaim(
    system: System,
    { device, request: { id, lastMax, shown } }: Extract<Message, { to: 'server'; kind: 'claim' }>,
    newId: () => string,
  ): System {
    const tokens = shown?.map(({ lease: token, next: following }) => ({ token, next: following }))
    const message = {
      id: hasTokens ? id : undefined,
      count: range,
      lastMax,
      ...(tokens && { shown: tokens }),
    }
    if (authority === 'ravendb' || authority === 'counter') {
      const { server, low } = counterGrants(
        system.server,
        range,
        authority === 'ravendb' ? lastMax : 0,
      )
      // As `nextHiSource` checks it.
      const answer: Answered =
        authority === 'counter' && lastMax >= low
          ? { refused: 'went backwards' }
          : { low, high: low + range - 1, token: undefined, fates: [] }
      return send({ ...system, server }, { to: 'device', kind: 'claim', device, id, answer })
    }
    const { server, outcome } = serverClaims(system.server, message, newId)
    // Status 503: the device keeps its claim, and sends it again later.
    if ('refused' in outcome && outcome.refused === 'restored') return { ...system, server }
    const answer: Answered =
      'refused' in outcome
        ? { refused: outcome.refused }
        : {
            low: outcome.grant.low,
            high: outcome.grant.high,
            token: hasTokens ? outcome.grant.token : undefined,
            fates: outcome.fates.map(fateOf),
          }
    const after = send({ ...system, server }, { to: 'device', kind: 'claim', device, id, answer })
    const { floor } = system.server.collection
    after.granted = Math.max(after.granted, server.collection.max)
    const isBelow = 'grant' in outcome && !outcome.isRepeat && outcome.grant.low <= floor
    if (isBelow) return { ...after, problem: `${outcome.grant.low} was granted, below the floor.` }
    return system.server.database.isRestored
      ? { ...after, problem: 'A server granted that was known to be restored.' }
      : after
  }

  function deliverAnswer(system: System, message: Extract<Message, { to: 'device' }>): System {
    if (message.kind === 'check-in')
      return forked(
        withDevice(system, message.device, (device) => ({
          ...device,
          stored: applyCheckIn(settle(device.stored, device.notes), message.id, message.answer, 0),
          notes: [],
        })),
        message.device,
        system.devices[message.device]!.stored.gaps.fork,
      )
    const { answer, id } = message
    const heard = withDevice(system, message.device, (device) => {
      const before = settle(device.stored, device.notes)
      if ('refused' in answer) return { ...device, stored: dropClaim(before, id), notes: [] }
      const { low, high, token, fates } = answer
      const settled = applyShown(before, id, fates)
      const granted = {
        from: low,
        to: high,
        prefix: PREFIX,
        serverTag: 'A',
        ...(token && { token }),
      }
      try {
        return { ...device, stored: addGrant(settled, id, { range: granted }), notes: [] }
      } catch {
        return { ...device, stored: dropClaim(settled, id), notes: [] }
      }
    })
    return forked(heard, message.device, system.devices[message.device]!.stored.gaps.fork)
  }

  /** Every page hears of a fork, and gives all up that it holds. */
  function forked(system: System, d: number, before: number): System {
    if (system.devices[d]!.stored.gaps.fork === before) return system
    return withDevice(system, d, (device) => ({
      ...device,
      pages: device.pages.map((page) => ({
        ...page,
        leases: [],
        offers: [],
        asked: undefined,
        outbox: [...page.outbox, ...page.leases.map(noteOf), ...cancelled(page)],
      })),
    }))
  }

  /** Everything that is under way arrives. */
  function arrived(system: System, newId: () => string): System {
    let now = system
    while (now.messages[0]) {
      now = deliver(without(now, 0), now.messages[0], newId)!
      if (now.problem) return now
    }
    return now
  }

  /** Healed, and with as many events as it takes: does this device make an id again? */
  function recover(start: System, d: number): System | undefined {
    const plenty = Object.fromEntries(
      Object.keys(left).map((name) => [name, 50]),
    ) as unknown as Left
    let { names } = start
    const newId = () => `~${names++}`
    let now = arrived({ ...start, left: plenty }, newId)
    now = writeOff(now, d)
    if (now.devices[d]!.pages.every(({ isFrozen }) => isFrozen)) now = openPage(now, d, newId)
    const p = now.devices[d]!.pages.findIndex(({ isFrozen }) => !isFrozen)
    for (let round = 0; round < 12 && !now.problem; round++) {
      if (now.devices[d]!.pages[p]!.asked) now = hear(now, d, p)
      const issued = issue(now, d, p)
      if (issued) return issued
      const asked = ask(now, d, p, lease, newId)
      const leases = asked?.devices[d]?.pages[p]?.asked?.leases ?? []
      if (asked && leases.length > 0) now = asked
      else {
        const sent = sendClaim(now, d, newId) ?? sendCheckIn(now, d, newId) ?? asked
        if (!sent) return undefined
        now = arrived(sent, newId)
      }
      // A restored server may contradict what a device holds, until its floor is raised.
      if (round === 6) now = floorsRaised(now)
    }
    return now.problem ? now : undefined
  }

  function stuck(system: System): string | undefined {
    for (const [d, { name }] of system.devices.entries()) {
      const after = recover(system, d)
      if (!after) return `Device ${name} makes no id any more.`
      const problem = broken(after)
      if (problem) return `When all is healed: ${problem}`
    }
    return undefined
  }

  return { initial, next, fingerprint, broken, stuck }
}

const IN_BOTH = 'kept'
const IN_INDEXED_DB = 'kept in IndexedDB'
const IN_LOCAL = 'kept in localStorage'
const LOST = 'lost'
/** What becomes of the note of a page that is left. */
const NOTES = [IN_BOTH, IN_INDEXED_DB, IN_LOCAL, LOST] as const

function floorsRaised(system: System): System {
  const by = Math.max(1, system.granted - system.server.collection.peak)
  return { ...system, server: serverRaisesFloors(system.server, by) }
}

/** RavenDB's rule, and with `lastMax` 0 that of a counter which is told nothing. */
function counterGrants(
  server: Server,
  count: number,
  lastMax: number,
): { server: Server; low: number } {
  const low = Math.max(server.collection.max, lastMax) + 1
  const collection = { ...server.collection, max: low + count - 1 }
  return { server: { ...server, collection }, low }
}

/** Any client that names the right end sets the counter back. */
function ravenTakesBack(server: Server, { end, last }: { end: number; last: number }): Server {
  if (server.collection.max !== end || last > end) return server
  return { ...server, collection: { ...server.collection, max: last } }
}

/** What is wrong with a state, whatever led to it. */
function broken({ server, problem, issued, devices, excuses }: System): string | undefined {
  if (problem !== undefined) return problem
  const isCopied = (number: number) =>
    excuses.copied.includes(number) ||
    server.grants.some(
      ({ claim, low, firstHigh }) =>
        excuses.copiedClaims.includes(claim!) && low <= number && number <= firstHigh,
    )
  for (const [number, by] of issued) {
    if (by.length < 2 || isCopied(number) || excuses.unknownToServer.includes(number)) continue
    return `${number} was issued twice: by ${by.join(' and by ')}.`
  }
  for (const { name, stored, pages } of devices) {
    const { refused, free } = soundnessOf(stored)
    if (refused !== undefined) return `What device ${name} stores cannot be used: ${refused}.`
    for (const [p, page] of pages.entries())
      for (const { next, range } of page.leases) {
        const both = free & bitsOf(next, range.to)
        if (both !== 0)
          return `${numbersIn(both)} is free on device ${name} and leased to page ${p + 1}.`
      }
  }
  return undefined
}

const soundness = new WeakMap<DeviceState, { refused: string | undefined; free: number }>()

/** Most steps leave a device's state as it was, so each is looked at once. */
function soundnessOf(stored: DeviceState): { refused: string | undefined; free: number } {
  const known = soundness.get(stored)
  if (known) return known
  const read = readState(stored)
  const free = stored.ranges.reduce((bits, { from, to }) => bits | bitsOf(from, to), 0)
  const result = { refused: 'refused' in read ? read.refused : undefined, free }
  soundness.set(stored, result)
  return result
}

/** Sets of numbers are bits: 1 is the second one. Bounds are small enough for that. */
const MOST_NUMBERS = 30

function bitsOf(from: number, to: number): number {
  if (to > MOST_NUMBERS) throw new RangeError(`Bounds with numbers above ${MOST_NUMBERS}`)
  return to < from ? 0 : ((2 << to) - 1) & ~((1 << from) - 1)
}

const numbersIn = (bits: number): string =>
  numbersBetween(0, MOST_NUMBERS)
    .filter((number) => (bits >> number) & 1)
    .join(', ')

/** Where every number is that is not issued: in the server's free list, on a device, on its way. */
function places({ server, devices, messages }: System): number {
  let found = 0
  const put = (from: number, to: number) => {
    found |= bitsOf(from, to)
  }
  for (const [low, high] of server.collection.free) put(low, high)
  for (const { stored } of devices) {
    for (const { from, to } of stored.ranges) put(from, to)
    for (const { range } of stored.leases) put(range.from, range.to)
    // Without a token nobody can tell what became of an offer: it counts as lost when it is made.
    for (const { range } of stored.offers) if (range.token) put(range.from, range.to)
    const answered = stored.claim && server.grants.find(({ claim }) => claim === stored.claim!.id)
    if (answered) put(answered.low, answered.high)
  }
  for (const message of messages) {
    if (message.kind === 'give-back' && message.token) put(message.last + 1, message.end)
    // With a token it is the answer to the claim that its device has stored, or it says nothing.
    if (message.kind === 'claim' && message.to === 'device' && 'low' in message.answer)
      if (!message.answer.token) put(message.answer.low, message.answer.high)
  }
  return found
}

/** Numbers that are neither anywhere nor issued any more, nor above all that are granted. */
function lostBetween(before: number, after: System): string | undefined {
  let lost = before & ~places(after) & bitsOf(0, after.server.collection.max)
  for (const [number] of after.issued) lost &= ~(1 << number)
  return lost === 0 ? undefined : numbersIn(lost)
}

function fateOf(fate: CheckInFate): CheckInAnswer['leases'][number] {
  if (fate === 'superseded') return { superseded: true }
  if (fate === 'unknown') return { unknown: true }
  return { lease: fate.token, high: fate.high }
}

const newDevice = (name: string): Device => ({
  name,
  stored: emptyState(),
  pages: [],
  notes: [],
  local: [],
  dead: [],
})

const noteOf = ({ id, next }: { id: string; next: number }): Note => ({ lease: id, next })

/** A page that will not use the answer of its exchange says so. */
const cancelled = ({ asked }: Page): ExchangeNote[] =>
  asked ? [{ exchange: asked.id, takeBack: asked.takeBack }] : []

function withDevice(system: System, d: number, change: (device: Device) => Device): System {
  return { ...system, devices: system.devices.map((each, i) => (i === d ? change(each) : each)) }
}

function withPage(system: System, d: number, p: number, change: (page: Page) => Page): System {
  return withDevice(system, d, (device) => ({
    ...device,
    pages: device.pages.map((each, i) => (i === p ? change(each) : each)),
  }))
}

const send = (system: System, message: Message): System => ({
  ...system,
  messages: [...system.messages, message],
})

const without = (system: System, m: number): System => ({
  ...system,
  messages: system.messages.filter((_, i) => i !== m),
})

const spend = (system: System, what: keyof Left): System => ({
  ...system,
  left: oneLess(system.left, what),
})

const spent = new WeakMap<Left, Map<keyof Left, Left>>()
const leftByText = new Map<string, Left>()

/** Few of these exist, and each of them once: they are compared and hashed all the time. */
function oneLess(left: Left, what: keyof Left): Left {
  const known = spent.get(left)?.get(what)
  if (known) return known
  const less = { ...left, [what]: left[what] - 1 }
  const text = JSON.stringify(less)
  const one = leftByText.get(text) ?? less
  leftByText.set(text, one)
  spent.set(left, (spent.get(left) ?? new Map()).set(what, one))
  return one
}

function withIssued(system: System, number: number, device: string): System {
  const before = system.issued.find(([each]) => each === number)?.[1] ?? []
  const others = system.issued.filter(([each]) => each !== number)
  const issued: System['issued'] = [...others, [number, [...before, device]]]
  return { ...system, issued: issued.sort(([a], [b]) => a - b) }
}

function numbersBetween(from: number, to: number): number[] {
  return Array.from({ length: Math.max(0, to - from + 1) }, (_, i) => from + i)
}

/** All numbers a device has not let go of. */
function numbersOf({ stored: { ranges, leases, offers } }: Device): number[] {
  const held = [...ranges, ...leases.map((each) => each.range), ...offers.map((each) => each.range)]
  return held.flatMap(({ from, to }) => numbersBetween(from, to))
}

function describe(message: Message, { devices }: System): string {
  if (message.kind === 'give-back') return `The give-back of ${message.last + 1}–${message.end}`
  const { name } = devices[message.device]!
  if (message.to === 'server') return `The ${message.kind} of device ${name}`
  const { answer } = message
  return 'low' in answer
    ? `The grant of ${answer.low}–${answer.high} to device ${name}`
    : `The answer to device ${name}'s ${message.kind}`
}
