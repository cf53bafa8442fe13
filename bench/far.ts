/** The network path to a server that is far away: it delays all that is sent. */
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'

/** @param ms of a round trip */
export async function farFrom(
  url: string,
  ms: number,
): Promise<{ url: string; close(): Promise<void> }> {
  const { hostname, port } = new URL(url)
  const sockets = new Set<Socket>()
  const oneWay = (from: Socket, to: Socket) => {
    sockets.add(from)
    from.on('data', (data) => setTimeout(() => to.writable && to.write(data), ms / 2))
    from.on('close', () => {
      sockets.delete(from)
      setTimeout(() => to.destroy(), ms / 2)
    })
    from.on('error', () => {})
  }
  const server = createServer({ noDelay: true }, (near) => {
    const far = connect({ host: hostname, port: Number(port), noDelay: true })
    oneWay(near, far)
    oneWay(far, near)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    close: async () => {
      for (const socket of sockets) socket.destroy()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}
