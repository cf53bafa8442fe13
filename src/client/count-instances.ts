/**
 * Counts the open instances of this page. A hot update, two bundles, or a component that makes one
 * at each mount may make two for one device. Their ids are unique, but each instance has a worker
 * and leases of its own, so the console warns about the second one.
 */
import type { OwnerConfig } from '../device/contract.js'
import { warn } from './warn.js'

/** Two bundles in one page have two copies of this module, but one document. */
const KEY = Symbol.for('offline-hilo')

/** @param closed the instance counts no more */
export function countInstance({ name, url }: OwnerConfig, closed: AbortSignal): void {
  const page = (globalThis.document ?? globalThis) as { [KEY]?: Set<string> }
  page[KEY] ??= new Set()
  const open = page[KEY]
  const device = `${name} ${url}`
  if (open.has(device)) {
    warn(({ secondInstance }) => secondInstance(name, url))
    return
  }
  open.add(device)
  closed.addEventListener('abort', () => open.delete(device))
}
