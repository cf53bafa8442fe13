/** What a developer reads in the console when a page has two open instances for one device. */
export function warn(name: string, url: string): void {
  console.warn(
    `offline-hilo: this page has two open instances for '${name}' at ${url}. Each has a worker ` +
      'and leases of its own. Call createHilo once, in a module of its own, or close() the first.',
  )
}
