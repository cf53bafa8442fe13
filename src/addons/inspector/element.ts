/**
 * `<hilo-inspector>` shows the numbers and events of a {@link Hilo}, and lets a developer try it.
 * It uses the public API only, and only while it is on the page.
 */
import type { Activity, Hilo, HiloError, HiloStatus, Inspection } from '../../index.js'
import { button, h, say, update } from './dom.js'
import { createEventLog } from './event-log.js'
import { type Piece, pieces, remember } from './history.js'
import { createPanel, type Panel } from './panel.js'
import { createReportCopier } from './report-copier.js'
import { createSeriesView, type InspectedSeries, type SeriesView } from './series-view.js'
import { STYLES } from './styles.js'
import { count, KINDS, STORAGE } from './words.js'

/** Milliseconds from a change to its drawing, so that a burst of ids is drawn a few times only. */
const DRAW_MS = 150
/** With a thousand collections, drawing would stop the page for seconds. */
const SHOWN = 50
const NO_COLLECTION = "No collection is in use yet. Call hilo.nextId('orders'), for example."
const NO_LEASE = 'holds no lease'
const NO_HILO = 'hilo-inspector: `hilo` has to be what createHilo returned.'

// A server has no elements: there the import does nothing, and the class cannot be used.
const Base: typeof HTMLElement = globalThis.HTMLElement ?? (class {} as typeof HTMLElement)

/**
 * The class of `<hilo-inspector>`.
 *
 * @example
 * import 'offline-hilo/inspector'
 *
 * const inspector = document.createElement('hilo-inspector')
 * inspector.hilo = hilo
 * document.body.append(inspector)
 */
export class HiloInspector extends Base {
  #hilo: Hilo | undefined
  #stop: (() => void) | undefined
  #timer: ReturnType<typeof setTimeout> | undefined
  readonly #panels = new Map<string, Panel>()
  readonly #inspections = new Map<string, Inspection>()
  /** Numbers that the device no longer holds, as far as was seen; by collection and database. */
  readonly #past = new Map<string, Piece[]>()
  /** The error of the last button pressed. */
  #problem: HiloError | undefined
  readonly #log = createEventLog()

  readonly #network = h('dd')
  readonly #storage = h('dd')
  readonly #page = h('dd', NO_LEASE)
  readonly #switch = button('Simulate offline', () => {
    const hilo = this.#hilo!
    if (hilo.status().online) hilo.goOffline()
    else hilo.goOnline()
  })
  readonly #report = createReportCopier(() => ({
    status: this.#hilo!.status(),
    inspections: [...this.#inspections.values()],
    activities: this.#log.activities(),
    problem: this.#problem,
    page: location.href,
    browser: navigator.userAgent,
    time: Date.now(),
  }))
  readonly #title = h('h3')
  readonly #message = h('p')
  readonly #dismiss = button('Dismiss', () => this.#try(async () => {}))
  readonly #alert = h(
    'div.problem',
    { role: 'alert', hidden: true },
    this.#title,
    this.#message,
    this.#dismiss,
  )
  readonly #hint = h('p.hint')
  readonly #collections = h('div')
  #series: InspectedSeries = {}
  #seriesView: SeriesView = createSeriesView({})
  readonly #empty = h(
    'div',
    h('p', 'Nothing to show yet. Give the inspector your app’s instance:'),
    h('code', "document.querySelector('hilo-inspector').hilo = hilo"),
  )
  readonly #body = h(
    'div',
    h(
      'dl',
      fact('Network', this.#network),
      fact('Storage', this.#storage),
      fact('This page', this.#page),
    ),
    h(
      'div.actions',
      this.#switch,
      button('Give everything back', () => this.#try((hilo) => hilo.release())),
      this.#report.button,
      this.#report.outcome,
    ),
    this.#report.text,
    this.#alert,
    this.#hint,
    this.#collections,
    this.#seriesView.element,
    h(
      'div.collection',
      h(
        'ul.legend',
        { 'aria-label': 'Legend' },
        ...Object.entries(KINDS).map(([kind, { name, meaning }]) =>
          h('li', h(`i.swatch ${kind}`), h('span', h('b', name), `: ${meaning}`)),
        ),
      ),
      h(
        'p.hint',
        'What was used, given back or lost before this inspector was opened is not on the line.',
      ),
    ),
    this.#log.element,
  )
  readonly #root = h(
    'section.inspector',
    { 'aria-label': 'HiLo inspector' },
    h('h2', 'HiLo inspector'),
    this.#empty,
    this.#body,
  )

  constructor() {
    super()
    const shadow = this.attachShadow({ mode: 'open' })
    const sheet = new CSSStyleSheet()
    sheet.replaceSync(STYLES)
    shadow.adoptedStyleSheets = [sheet]
    shadow.append(this.#root)
  }

  /** The instance to show. Set `undefined` to stop. */
  get hilo(): Hilo | undefined {
    return this.#hilo
  }

  set hilo(hilo: Hilo | undefined) {
    if (hilo === this.#hilo) return
    if (hilo && typeof hilo.watch !== 'function') throw new TypeError(NO_HILO)
    this.#unwatch()
    this.#hilo = hilo
    for (const name of this.#panels.keys()) this.#drop(name)
    for (const each of [this.#inspections, this.#past]) each.clear()
    this.#problem = undefined
    say(this.#page, NO_LEASE)
    this.#log.clear()
    if (this.isConnected) this.#watch()
  }

  /**
   * Series of `offline-hilo/consecutive` to show, by name: `inspector.series = { receipts }`.
   */
  get series(): InspectedSeries {
    return this.#series
  }

  set series(series: InspectedSeries | undefined) {
    this.#seriesView.stop()
    const view = createSeriesView(series ?? {})
    this.#seriesView.element.replaceWith(view.element)
    this.#series = series ?? {}
    this.#seriesView = view
    if (this.isConnected) view.start()
  }

  /** Called by the browser. */
  connectedCallback(): void {
    // A page that loads the inspector late may set these before the element is registered. They
    // would then hide the properties for ever.
    for (const name of ['hilo', 'series'] as const)
      if (Object.hasOwn(this, name)) {
        const { [name]: value } = this
        delete (this as Partial<this>)[name]
        Object.assign(this, { [name]: value })
      }
    this.#seriesView.start()
    // A page without a `color-scheme` gets the system's.
    const { style } = this.#root
    style.colorScheme = 'inherit'
    if (getComputedStyle(this.#root).colorScheme === 'normal') style.colorScheme = 'light dark'
    this.#watch()
  }

  /** Called by the browser. */
  disconnectedCallback(): void {
    this.#seriesView.stop()
    this.#unwatch()
  }

  #watch(): void {
    this.#unwatch()
    const hilo = this.#hilo
    if (hilo) {
      const draw = () => this.#drawSoon()
      const failed = ({ detail }: CustomEvent<{ collection: string; error: HiloError }>) =>
        this.#log.addError(detail.error, detail.collection)
      const stop = hilo.watch((activity) => this.#hear(activity))
      hilo.addEventListener('status', draw)
      hilo.addEventListener('error', failed)
      this.#stop = () => {
        stop()
        hilo.removeEventListener('status', draw)
        hilo.removeEventListener('error', failed)
      }
    }
    this.#draw()
  }

  #unwatch(): void {
    this.#stop?.()
    this.#stop = undefined
    clearTimeout(this.#timer)
    this.#timer = undefined
  }

  #hear(activity: Activity): void {
    this.#log.add(activity)
    const key = keyOf(activity)
    this.#past.set(key, remember(this.#past.get(key) ?? [], activity))
    this.#drawSoon()
  }

  #drawSoon(): void {
    this.#timer ??= setTimeout(() => {
      this.#timer = undefined
      this.#draw()
    }, DRAW_MS)
  }

  #draw(): void {
    const hilo = this.#hilo
    this.#empty.hidden = !!hilo
    this.#body.hidden = !hilo
    if (!hilo) return
    const status = hilo.status()
    this.#drawStatus(status)
    for (const [name, each] of Object.entries(status.collections).slice(0, SHOWN)) {
      this.#panel(name, hilo).draw(each)
      hilo.inspect(...refOf(name)).then(
        (inspection) => {
          // By now it may show another instance.
          if (hilo !== this.#hilo) return
          this.#inspections.set(name, inspection)
          const mine = inspection.segments.find(({ isThisPage }) => isThisPage)
          if (mine) say(this.#page, mine.page!.slice(0, 4))
          this.#panels
            .get(name)
            ?.line.show(pieces(inspection.segments, this.#past.get(keyOf(inspection)) ?? []))
        },
        (error: HiloError) => {
          if (error.code !== 'closed') this.#fail(error, hilo)
        },
      )
    }
  }

  #drawStatus({ online, storage, collections }: HiloStatus): void {
    update(this.#network, { class: online ? 'ready' : 'low' })
    say(this.#network, online ? '● Online' : '▲ Offline: ids come from the reserve')
    // The app may have switched it off, too.
    say(this.#switch, online ? 'Simulate offline' : 'Go online')
    say(this.#storage, STORAGE[storage])
    const all = Object.entries(collections)
    this.#hint.hidden = all.length > 0 && all.length <= SHOWN
    say(
      this.#hint,
      all[0] ? `The first ${SHOWN} of ${count(all.length)} collections:` : NO_COLLECTION,
    )
    const [name, failed] = all.find(([, { lastError }]) => lastError) ?? []
    const error = this.#problem ?? failed?.lastError
    this.#alert.hidden = !error
    this.#dismiss.hidden = !this.#problem
    if (!error) return
    say(this.#title, this.#problem ? error.code : `${name}: ${error.code}`)
    say(this.#message, error.message)
  }

  #panel(name: string, hilo: Hilo): Panel {
    const known = this.#panels.get(name)
    if (known) return known
    const [collection, options] = refOf(name)
    const panel = createPanel(name, (count) =>
      this.#try(() => hilo.reserve(collection, count, options)),
    )
    this.#panels.set(name, panel)
    this.#collections.append(panel.element)
    return panel
  }

  #drop(name: string): void {
    this.#panels.get(name)?.element.remove()
    this.#panels.delete(name)
  }

  async #try(act: (hilo: Hilo) => Promise<unknown>): Promise<void> {
    const hilo = this.#hilo!
    try {
      await act(hilo)
      this.#problem = undefined
    } catch (error) {
      this.#fail(error as HiloError, hilo)
    }
    this.#draw()
  }

  #fail(error: HiloError, hilo: Hilo): void {
    if (hilo !== this.#hilo) return
    if (this.#problem?.message !== error.message) this.#log.addError(error)
    this.#problem = error
    this.#drawStatus(hilo.status())
  }
}

/**
 * A collection of another database is listed as `tag|database`. Only the database may contain a
 * `|`.
 */
function refOf(name: string): [collection: string, options: { database?: string }] {
  const [collection, ...database] = name.split('|') as [string, ...string[]]
  return [collection, database.length > 0 ? { database: database.join('|') } : {}]
}

const keyOf = ({ collection, database }: Activity | Inspection): string =>
  `${collection}|${database}`

const fact = (name: string, value: HTMLElement): HTMLElement => h('div', h('dt', name), value)
