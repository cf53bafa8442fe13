/**
 * The production page of one collection, from its callers to its messages, in a world that the
 * explorer moves: the device that answers it, the owner that claims for it, its timers and its
 * clock. What stands here is what can happen to a page; all that the page does is production code.
 */
import { Allocator, type AllocatorContext } from '../../src/client/allocator.js'
import { pageWorld } from '../../src/client/page-world.js'
import { release } from '../../src/client/release.js'
import { type Failure, fromFailure, type HiloError } from '../../src/core/errors.js'
import { type Range, total } from '../../src/core/range.js'
import type { DeviceView, Target } from '../../src/device/contract.js'
import { exchange, settle, surplus } from '../../src/device/device.js'
import { type DeviceState, type Exchange, emptyState, type Note } from '../../src/device/state.js'
import { Clock } from './clock.js'

/** What a page at rest holds, and the device's reserve. */
export const AT_REST = 16
const RESERVE = 4

const target: Target = {
  database: 'Shop',
  collection: 'orders',
  separator: '/',
  reserve: RESERVE,
}

export const REFUSED: Failure = { code: 'server-refused', message: 'No.' }
export const UNREACHABLE: Failure = { code: 'server-unreachable', message: '', isRepeated: true }
export const HUNG: Failure = { code: 'storage-failed', message: '', retryAfter: 5_000 }

/** Each grants from 1 on, so a bare number of one may be that of the other. */
type Node = 'A' | 'B'

/** A message of the page that its owner has not answered. */
export interface Asked {
  method: 'exchange' | 'claim' | 'release'
  request: Pick<Exchange, 'page' | 'id'> & Partial<Exchange>
  answer(answer: object): void
}

export class OnePage {
  readonly clock = new Clock()
  readonly asked: Asked[] = []
  /** Callers that wait, and how many numbers each wants. */
  readonly waiting = new Map<number, number>()
  /** Bare numbers while the page gives them, then ids. */
  readonly issued: string[] = []
  state = emptyState()
  isVisible = true
  isOnline = true
  /** Why the last claim failed. The owner repeats a claim if that may help. */
  failure: Failure | undefined
  /** Was a caller told of a storage that hung, though it would have waited? */
  isRefusedForHang = false
  /** Did the node that answers now get numbers, without a token, that another node had granted? */
  isSentAstray = false
  /** Numbers that it held for nobody when it said that it has parked. */
  kept = 0
  /** The owner that was to repeat a claim has died, and its successor does not know of it. */
  isForgotten = false
  /** What the device said of itself last, and before that: messages overtake each other. */
  lastView: DeviceView | undefined
  earlierView: DeviceView | undefined
  readonly allocator: Allocator
  readonly #closing = new AbortController()
  #notes: Note[] = []
  /** The last number that each node of the server has granted. */
  readonly #granted: Record<Node, number> = { A: 0, B: 0 }
  #calls = 0
  #names = 0
  readonly #context: AllocatorContext

  constructor() {
    this.#context = {
      page: 'page',
      newExchange: () => `~${this.#names++}`,
      link: {
        call: (method: Asked['method'], args: unknown[]) =>
          new Promise((resolve) => {
            const request = args.at(-1) as Asked['request']
            // A release is answered for each of its collections.
            const answer = (given: object) => resolve(method === 'release' ? [given] : given)
            this.asked.push({ method, request, answer })
          }),
        retryNow: () => {},
      },
      pageExit: {
        takesBack: true,
        sender: () => {},
        readNotes: () => [],
        openStore: () => {},
        forgetNotes: () => {},
        leaveNotes: (_: Target, notes: Note[]) => this.#notes.push(...notes),
        // Its fate is known when the next check-in has told it: here, it has arrived.
        giveBack: async (_: Target, ranges: Range[]) => {
          this.isSentAstray ||= ranges.some(({ serverTag }) => serverTag !== this.state.serverTag)
        },
      },
      signal: this.#closing.signal,
      world: pageWorld,
      formatId: undefined,
      state: () =>
        this.#closing.signal.aborted ? 'closed' : this.isVisible ? 'visible' : 'hidden',
      isOnline: () => this.isOnline,
      changed: () => {},
      exhausted: () => {},
      dropped: () => {},
      otherLedger: () => {},
    } as unknown as AllocatorContext
    this.allocator = new Allocator(target, this.#context)
  }

  get isClosed(): boolean {
    return this.#closing.signal.aborted
  }

  get held(): number {
    return this.allocator.pageLeases.queue.held
  }

  /** What the device knows once it has read all notes. */
  get settled(): DeviceState {
    return settle(this.state, this.#notes)
  }

  call(count: number, timeout: number): void {
    const call = this.#calls++
    this.waiting.set(call, count)
    const take = () => {
      for (let i = 0; i < count; i++) this.issue()
    }
    const ended = () => this.waiting.delete(call)
    this.allocator.when(count, take, { timeout }).then(ended, ({ code }: HiloError) => {
      ended()
      this.isRefusedForHang ||= code === HUNG.code
    })
  }

  /** How many numbers the page may hold at rest, or for the callers that wait. */
  get most(): number {
    const atRest = this.isVisible && !this.isClosed ? AT_REST : 0
    const wanted = [...this.waiting.values()].reduce((sum, count) => sum + count, 0)
    return Math.max(atRest, wanted)
  }

  issue(): void {
    const { pageLeases } = this.allocator
    this.issued.push(
      pageLeases.mixedNodes ? this.allocator.nextIdSync() : `${this.allocator.nextNumberSync()}`,
    )
  }

  /** The device does the exchange at once, in one transaction. */
  serve({ method, request, answer }: Asked): void {
    const given = method === 'release' ? this.#giveBack() : this.#lease(request as Exchange)
    answer({ ...given, view: this.view() })
  }

  fail({ answer }: Asked, failure: Failure): void {
    answer({ failure, view: this.view() })
  }

  /** Numbers come to the device, as from a RavenDB: without a token. */
  grant(count: number, node: Node = 'A'): void {
    const from = this.#granted[node] + 1
    this.#granted[node] += count
    const to = this.#granted[node]
    const range = { from, to, prefix: '', serverTag: node }
    const { ranges, nodes = [] } = this.settled
    const all = [...new Set([...nodes, node])]
    this.state = { ...this.settled, ranges: [...ranges, range], nodes: all, serverTag: node }
    this.failure = undefined
  }

  /** Another page of this device leases all that is free. */
  leaseElsewhere(): void {
    this.state = { ...this.state, ranges: [] }
  }

  /** Another page of this device has no number left. */
  spare(): void {
    this.allocator.stock.parkExcess().then(() => {
      this.kept = Math.max(0, this.held - this.most)
    })
  }

  fork(): void {
    const { gaps } = this.state
    const lost = total(this.state.ranges) + total(this.state.leases.map(({ range }) => range))
    const left = { ...this.state, ranges: [], leases: [], offers: [] }
    this.state = { ...left, gaps: { ...gaps, fork: gaps.fork + lost } }
  }

  /** The page hears how things stand on its device, or how they stood. */
  tell(view = this.view()): void {
    this.allocator.stock.onChange(view)
  }

  release(): void {
    release([this.allocator], this.#context, fromFailure).catch(() => {})
  }

  close(): void {
    this.#closing.abort(new Error('closed'))
    this.allocator.stock.close()
  }

  view(): DeviceView {
    const { ranges, gaps, checkedIn, isReleased, nodes, serverTag } = this.state
    this.earlierView = this.lastView
    this.lastView = {
      order: (this.lastView?.order ?? 0) + 1,
      free: total(ranges),
      reserve: RESERVE,
      surplus: surplus(this.state, RESERVE),
      gaps,
      isClaiming: false,
      isReachable: true,
      storage: 'persistent',
      ...(checkedIn !== undefined && { checkedIn }),
      ...(isReleased && { isReleased }),
      ...(serverTag !== undefined && { serverTag }),
      ...(nodes && nodes.length > 1 && { mixedNodes: nodes }),
      ...(this.failure && { failure: this.failure }),
    }
    return this.lastView
  }

  #lease(request: Exchange): object {
    const { isReleased: _, ...asked } = this.settled
    const before = request.want > 0 && !request.isIdle ? asked : this.settled
    this.#notes = []
    const { state, ...answer } = exchange(before, request, RESERVE, RESERVE)
    this.state = state
    return answer
  }

  #giveBack(): object {
    this.state = { ...this.settled, ranges: [], isReleased: true }
    this.#notes = []
    return {}
  }
}
