/** A worker in a test: a message channel whose other end acts as a worker, or fails as one. */
import { expose } from 'comlink'
import type { Owner } from '../../src/device/contract.js'

export class FakeWorker extends EventTarget {
  isTerminated = false
  readonly #here: MessagePort
  readonly #there: MessagePort

  /** @param owner undefined: it starts, and never answers */
  constructor(owner?: Owner) {
    super()
    const { port1, port2 } = new MessageChannel()
    this.#here = port1
    this.#there = port2
    port1.onmessage = ({ data }) => this.dispatchEvent(new MessageEvent('message', { data }))
    if (owner) expose(owner, port2)
  }

  postMessage(message: unknown, transfer: Transferable[] = []): void {
    if (!this.isTerminated) this.#here.postMessage(message, transfer)
  }

  terminate(): void {
    this.isTerminated = true
    this.#here.close()
    this.#there.close()
  }

  /** Its code throws, or could not be loaded. */
  fail(): void {
    this.dispatchEvent(new Event('error'))
  }
}
