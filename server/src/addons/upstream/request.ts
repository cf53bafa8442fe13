/**
 * One request to an upstream, over HTTP or HTTPS with certificates of its own. Guarantees that
 * nothing sends it a second time, and that an endless answer is cut off.
 */
import { readFileSync } from 'node:fs'
import { request as httpRequest } from 'node:http'
import { request as httpsRequest, type RequestOptions } from 'node:https'
import { z } from 'zod'
import { reasonOf, UpstreamUnavailable } from '../../ledger/ledger-errors.js'

const file = z.string().min(1, 'is empty: name a file in PEM')

/** As an upstream's certificates are given: files in PEM. */
export const tlsFiles = {
  certificate: z
    .strictObject(
      { cert: file, key: file },
      'needs two files: {"cert": "client.crt", "key": "client.key"}',
    )
    .optional(),
  /** The authority that signed the server's certificate. Default: those that Node trusts. */
  ca: file.optional(),
}
const tls = z.object(tlsFiles)

interface Answer {
  status: number
  body: string
}

const TIMEOUT_MS = 5_000
const MAX_ANSWER_BYTES = 1_048_576

/**
 * Uses a connection of its own, because an agent that keeps connections may send a request again.
 * @param options without a `signal`, it waits five seconds
 * @throws UpstreamUnavailable when no answer comes
 */
export function send(
  method: string,
  url: string,
  { body: sent, signal, ...options }: RequestOptions & { body?: string },
): Promise<Answer> {
  const unavailable = (why: string) =>
    new UpstreamUnavailable(`The upstream ${new URL(url).origin} ${why}.`)
  return new Promise((resolve, reject) => {
    const request = (url.startsWith('https:') ? httpsRequest : httpRequest)(
      url,
      { ...options, method, agent: false, signal: signal ?? AbortSignal.timeout(TIMEOUT_MS) },
      (response) => {
        let body = ''
        response.setEncoding('utf8')
        response.on('data', (chunk) => {
          body += chunk
          if (body.length > MAX_ANSWER_BYTES) request.destroy(new Error('it sent too much'))
        })
        response.on('error', (error) => reject(unavailable(`broke off: ${error.message}`)))
        response.on('end', () => resolve({ status: response.statusCode!, body }))
      },
    )
    request.on('error', (error) => reject(unavailable(`does not answer: ${reasonOf(error)}`)))
    request.end(sent)
  })
}

/** @throws Error when a file cannot be read */
export const readTls = ({ certificate, ca }: z.output<typeof tls>): RequestOptions => ({
  ...(certificate && { cert: read(certificate.cert), key: read(certificate.key) }),
  ...(ca && { ca: read(ca) }),
})

function read(file: string): Buffer {
  try {
    return readFileSync(file)
  } catch (error) {
    throw new Error(
      `upstream: ${file} cannot be read (${(error as NodeJS.ErrnoException).code}). Correct ` +
        'the path of the certificate.',
    )
  }
}

/** Undefined: it is not JSON. */
export function parsed(body: string): unknown {
  try {
    return JSON.parse(body)
  } catch {
    return undefined
  }
}
