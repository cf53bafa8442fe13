/**
 * An address of a PostgreSQL, like a service name or a proxy: leads to one server, later to
 * another, or to none that answers.
 */
import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import { onTestFinished } from 'vitest'

export interface Relay {
  url: string
  /** Connections to the server before are cut. */
  leadTo(url: string): void
  /** As a pooler in front of a server that hangs: it connects, and then nothing is answered. */
  freeze(): void
}

export async function startRelay(url: string): Promise<Relay> {
  let current = new URL(url)
  let isFrozen = false
  const sockets = new Set<Socket>()
  const relay = createServer((socket) => {
    const onward = connect(Number(current.port), current.hostname)
    let hasBegun = false
    socket.on('data', (chunk) => {
      if (!isFrozen || !hasBegun) onward.write(chunk)
      hasBegun = true
    })
    onward.pipe(socket)
    for (const [one, other] of [
      [socket, onward],
      [onward, socket],
    ] as const) {
      sockets.add(one)
      one.on('error', () => other.destroy()).on('close', () => other.destroy())
    }
  })
  await once(relay.listen(0, '127.0.0.1'), 'listening')
  onTestFinished(() => {
    relay.close()
    for (const socket of sockets) socket.destroy()
  })
  const address = new URL(url)
  address.port = String((relay.address() as AddressInfo).port)
  return {
    url: address.href,
    leadTo(other) {
      current = new URL(other)
      for (const socket of sockets) socket.destroy()
    },
    freeze() {
      isFrozen = true
    },
  }
}
