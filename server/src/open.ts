/**
 * Who is answered where nobody is asked for a token. Guarantees that a server which other machines
 * reach starts only with tokens, or where somebody said that it is open; and that on this machine
 * no page of another site can lead its own name here (DNS rebinding).
 */
import { BlockList, isIPv6 } from 'node:net'
import type { HandlerOptions } from './http/options.js'

export interface Opening
  extends Pick<HandlerOptions, 'authorize' | 'hosts' | 'publicUrl' | 'tokens'> {
  /** Where the server listens. */
  host: string
  open: boolean
}

export const DEFAULT_PORT = 8080
export const DEFAULT_HOST = '127.0.0.1'

const LOOPBACK = new BlockList()
LOOPBACK.addSubnet('127.0.0.0', 8)
LOOPBACK.addAddress('::1', 'ipv6')
const LOOPBACK_NAMES = ['localhost', '127.0.0.1', '[::1]']

/**
 * The names under which the server may be asked; undefined for any.
 * @throws Error that says how to let only some in, or everybody
 */
export function namesToAnswer(opening: Opening): readonly string[] | undefined {
  const { host, hosts, open, tokens, authorize, publicUrl } = opening
  if (open || tokens !== undefined || authorize !== undefined) return hosts
  // guard: H26 beyond this machine a server asks for tokens
  if (!isLoopback(host))
    throw new Error(
      `host is ${host}, and there are no tokens: everybody who reaches this address could use up ` +
        'numbers and move counters. Give tokens in the configuration file. If everybody may ' +
        'indeed, say so: --open, HILO_OPEN=true, or "open": true in the file. For this machine ' +
        'only, leave host out.',
    )
  const itself = isIPv6(host) ? `[${host}]` : host
  const ofUrl = publicUrl !== undefined && URL.canParse(publicUrl) ? [new URL(publicUrl).host] : []
  // guard: H26 without tokens a server answers for its own names only
  return [...LOOPBACK_NAMES, itself, ...(hosts ?? []), ...ofUrl]
}

export const isLoopback = (host: string): boolean =>
  host.toLowerCase() === 'localhost' || LOOPBACK.check(host, isIPv6(host) ? 'ipv6' : 'ipv4')
