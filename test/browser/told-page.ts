/**
 * A page that does what a test tells it, in a browser that no program can drive. The page asks a
 * small server of the test what to run, and reports the result. The site makes such a page run
 * {@link obey} first, with that server's address.
 */
import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { json } from 'node:stream/consumers'
import type { TestPage } from './browser.js'

/** Name of the query parameter with the address of a page's server. */
export const MASTER = 'master'

export interface ToldPage extends TestPage {
  /** Address of a page to begin with. */
  blank: string
  /** Resolves when it has loaded. */
  opened: Promise<void>
  /**
   * The browser is gone: calls that the page has not answered are rejected, and so are later ones.
   */
  end(): void
}

interface Report {
  document: string
  /** The call that it answers; absent when the page only says that it is there. */
  order?: number
  value?: unknown
  error?: string
}

/**
 * How long the last report of the document before may come after the first report of this one.
 */
const LAST_WORD_MS = 1_000

export async function openToldPage(): Promise<ToldPage> {
  /** The document that the page shows now, of those that it has loaded. */
  let current: string | undefined
  let orders = 0
  let loaded = () => {}
  let end = () => {}
  const waiting = new Map<string, ServerResponse>()
  const queued: { order: number; run: string; arg: unknown }[] = []
  const told = new Map<number, { document: string | undefined; end(report: Report): void }>()

  const server = createServer((asked, answer) => {
    answer.setHeader('access-control-allow-origin', '*')
    const { pathname, searchParams } = new URL(asked.url!, 'http://page')
    if (pathname === '/next') {
      const document = searchParams.get('document')!
      waiting.set(document, answer)
      // A page that went into the back/forward cache asks again when it is back.
      answer.once('close', () => waiting.get(document) === answer && waiting.delete(document))
      hand()
    } else if (pathname === '/report')
      json(asked).then(
        (report) => {
          answer.writeHead(204).end()
          hear(report as Report)
        },
        // Cut off when the browser was killed.
        () => {},
      )
    else answer.setHeader('content-type', 'text/html').end(`<script>(${obey})('')</script>`)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  // A page may be made while its browser is killed.
  server.unref()
  const address = `http://127.0.0.1:${(server.address() as AddressInfo).port}`

  const hand = () => {
    const answer = waiting.get(current!)
    const next = answer && queued.shift()
    if (!next) return
    waiting.delete(current!)
    told.get(next.order)!.document = current
    answer.setHeader('content-type', 'application/json').end(JSON.stringify(next))
  }
  const hear = (report: Report) => {
    if (report.order !== undefined) return told.get(report.order)?.end(report)
    current = report.document
    setTimeout(giveUp, LAST_WORD_MS)
    loaded()
    hand()
  }
  const giveUp = () => {
    for (const { document, end } of told.values())
      if (document !== undefined && document !== current)
        end({ document, error: 'The page went away before the script ended.' })
  }
  const tell = <R, A>(run: (arg: A) => R | Promise<R>, arg?: A): Promise<R> =>
    new Promise((resolve, reject) => {
      const order = orders++
      const end = ({ error, value }: Report) => {
        told.delete(order)
        if (error === undefined) resolve(value as R)
        else reject(new Error(error))
      }
      told.set(order, { document: undefined, end })
      queued.push({ order, run: String(run), arg })
      hand()
    })
  const evaluate: TestPage['evaluate'] = (run, arg) => Promise.race([tell(run, arg), ended])
  const ended = new Promise<never>((_, reject) => {
    end = () => reject(new Error('The browser was closed.'))
  })
  ended.catch(() => {})
  const nextLoad = () => Promise.race([new Promise<void>((resolve) => (loaded = resolve)), ended])
  const load = async (how: (url: string) => void, url: string) =>
    void (await Promise.all([nextLoad(), evaluate(how, url)]))
  const opened = nextLoad()
  opened.catch(() => {})
  return {
    blank: address,
    opened,
    goto(url) {
      const target = new URL(url)
      target.searchParams.set(MASTER, address)
      return load((href) => location.assign(href), target.href)
    },
    reload: () => load(() => location.reload(), ''),
    evaluate,
    close: () => evaluate(() => window.close()),
    end() {
      server.close()
      server.closeAllConnections()
      end()
    },
  }
}

/** Runs in a page. */
export function obey(master: string): void {
  const document = Math.random().toString(36)
  const report = (more: object) => {
    const body = JSON.stringify({ document, ...more })
    // A beacon is sent also while the page closes. It cannot carry very long reports.
    if (!navigator.sendBeacon(`${master}/report`, body))
      fetch(`${master}/report`, { method: 'POST', body })
  }
  const act = async ({ order, run, arg }: { order: number; run: string; arg: unknown }) => {
    try {
      report({ order, value: await new Function(`return (${run})`)()(arg) })
    } catch (error) {
      report({ order, error: String(error) })
    }
  }
  let cameBack = () => {}
  const listen = async () => {
    for (;;) {
      const back = new Promise<void>((resolve) => (cameBack = resolve))
      try {
        act(await (await fetch(`${master}/next?document=${document}`)).json())
      } catch {
        // Cut off: the page goes into the back/forward cache, or the test has ended.
        await back
      }
    }
  }
  addEventListener('load', () => report({}))
  addEventListener('pageshow', ({ persisted }) => {
    if (!persisted) return
    report({})
    cameBack()
  })
  listen()
}
