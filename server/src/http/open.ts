/**
 * Which requests are answered without a token. Guarantees that a server within reach of other
 * machines starts only with tokens or a check of the application's own, or where somebody said that
 * it is open; and that on this machine no page of another site can lead its own name here (DNS
 * rebinding). Every handler goes through it: of `serve`, of an app's own server, of a Worker.
 */

/** The options of access without a token. */
export interface Opening {
  host?: string | undefined
  hosts?: readonly string[] | undefined
  publicUrl?: string | undefined
  open?: boolean | undefined
  tokens?: unknown
  authorize?: unknown
}

export const DEFAULT_PORT = 8080
export const DEFAULT_HOST = '127.0.0.1'

const LOOPBACK_NAMES = ['localhost', '127.0.0.1', '[::1]']

/** Is every client at this place allowed to ask? */
export const asksNobody = ({ open, tokens, authorize }: Opening): boolean =>
  !open && tokens === undefined && authorize === undefined

/**
 * The names under which the server may be asked; undefined for any.
 * @throws Error that says how to let only some in, or everybody
 */
export function namesToAnswer(opening: Opening): readonly string[] | undefined {
  const { host, hosts = [], publicUrl } = opening
  if (!asksNobody(opening)) return opening.hosts
  // guard: H26 a handler asks for tokens where nobody says who may ask
  if (host === undefined) throw unsaid()
  // guard: H26 beyond this machine a server asks for tokens
  if (!isLoopback(host)) throw openedBy('host', host)
  // A proxy passes on requests under such a name.
  const other = hosts.find((name) => !isOfThisMachine(name))
  // guard: H26 a server with a name for others asks for tokens
  if (other !== undefined) throw openedBy('hosts', other)
  // guard: H26 a server with an address for others asks for tokens
  if (publicUrl !== undefined && !isOfThisMachine(publicUrl.replace(/^https?:\/\/|\/$/g, '')))
    throw openedBy('publicUrl', publicUrl)
  // guard: H26 without tokens a server answers for its own names only
  return [...LOOPBACK_NAMES, bracketed(host), ...hosts]
}

const NO_TOKENS =
  'there are no tokens: everybody who reaches this address could use up numbers and move counters'

const unsaid = (): Error =>
  new Error(
    `Nobody has said who may ask, and ${NO_TOKENS}. Give tokens or authorize. If everybody may ` +
      'indeed, say so: open: true. If only this machine reaches your server, say where it ' +
      "listens: host: 'localhost'.",
  )

const openedBy = (setting: keyof Opening, value: string): Error =>
  new Error(
    `${setting} is ${value}, and ${NO_TOKENS}. Give tokens in the configuration file (in your ` +
      'own server: tokens or authorize). If everybody may indeed, say so: --open, ' +
      `HILO_OPEN=true, or "open": true in the file. For this machine only, leave ${setting} out.`,
  )

/** As a URL has a host, an address is written in one way: `127.1` is `127.0.0.1`. */
function hostnameOf(host: string): string | undefined {
  const url = `http://${bracketed(host)}`
  return URL.canParse(url) ? new URL(url).hostname : undefined
}

const bracketed = (host: string): string => (/^[^[]*:[^[]*:/.test(host) ? `[${host}]` : host)

/** @param host where a server listens, without a port */
export const isLoopback = (host: string): boolean =>
  /^(localhost|127(\.\d+){3}|\[::1\])$/.test(hostnameOf(host) ?? '')

/** Browsers take every name that ends in `.localhost` for this machine. */
const isOfThisMachine = (name: string): boolean =>
  isLoopback(name) || /\.localhost$/.test(hostnameOf(name) ?? '')
