/** Web Locks that are held, by name: enough for locks that nobody waits for. */
export class FakeLocks {
  readonly names: string[] = []

  async request(name: string, run: () => Promise<void>): Promise<void> {
    await Promise.resolve()
    this.names.push(name)
    await run()
    this.names.splice(this.names.indexOf(name), 1)
  }

  async query() {
    return { held: this.names.map((name) => ({ name })) }
  }
}
