/** What a developer reads in the console; loaded when there is something to say. */
/** A page has two open instances for one device. */
export function secondInstance(name: string, url: string): void {
  console.warn(
    `offline-hilo: this page has two open instances for '${name}' at ${url}. Each has a worker ` +
      'and leases of its own. Call createHilo once, in a module of its own, or close() the first.',
  )
}

/** The worker's file is of another build. */
export function otherVersion(own: string, version: unknown): void {
  console.warn(
    `offline-hilo: this page has version ${own}, and its worker file has version ${version}. The ` +
      'page makes ids without the worker. Deploy both files of one build.',
  )
}
