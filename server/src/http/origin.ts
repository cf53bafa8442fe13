/**
 * Which pages may ask. A browser sends the requests of every site's pages, and only hides the
 * answers: a claim would be lost, a document overwritten. Guarantees that a request of another
 * site's page is refused unless its origin is listed.
 */
import type { CheckedOptions } from './options.js'
import { forbidden } from './refusals.js'

/** The values of `Sec-Fetch-Site` for a page of another site, and for our own page or none. */
const OTHER_SITES = ['cross-site', 'same-site']
const OWN_SITE = ['same-origin', 'none']

/** @throws Refusal */
export function refuseOtherSites(
  request: Request,
  { cors, hosts, publicUrl }: CheckedOptions,
): void {
  const { headers } = request
  const host = headers.get('Host') ?? new URL(request.url).host
  // A page of evil.lan whose name leads to this server's address (DNS rebinding) is of its own
  // origin for the browser. Only the host tells that the server is asked under a foreign name.
  // guard: H26 a server is asked under its own names only
  if (hosts && !hosts.some((known) => isHost(host, known)))
    throw forbidden(
      'other-host',
      `This server does not answer for the host '${host}'. Add it to hosts of the server, or use ` +
        'a name that is listed there.',
    )
  const origin = headers.get('Origin')
  if (origin !== null && (cors?.origins.includes(origin) || origin === publicUrl)) return
  // Browsers send it to https and localhost only.
  const site = headers.get('Sec-Fetch-Site') ?? ''
  const isOther =
    OTHER_SITES.includes(site) ||
    (!OWN_SITE.includes(site) && origin !== null && !isOwnOrigin(origin, host))
  // guard: H26 a page of another site is refused
  if (isOther)
    throw forbidden(
      'other-site',
      `A page of '${origin ?? 'another site'}' may not ask at '${host}'. Add its origin to ` +
        "cors.origins of the server, or serve the page from the server's own origin. Behind a " +
        'proxy, let it pass the Host header on.',
    )
}

function isHost(host: string, known: string): boolean {
  const [asked, listed] = [urlOf('http:', host), urlOf('http:', known)]
  if (asked?.hostname !== listed!.hostname) return false
  return asked.port === listed!.port || !/:\d+$/.test(known)
}

function isOwnOrigin(origin: string, host: string): boolean {
  if (!URL.canParse(origin)) return false
  const page = new URL(origin)
  if (page.origin !== origin.toLowerCase()) return false
  return urlOf(page.protocol, host)?.host === page.host
}

/** Undefined if the text is not a host. The scheme decides the default port. */
function urlOf(protocol: string, host: string): URL | undefined {
  const text = `${protocol}//${host}`
  const url = URL.canParse(text) ? new URL(text) : undefined
  return url?.pathname === '/' ? url : undefined
}
