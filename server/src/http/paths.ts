/**
 * Reads the route and the database of a path. Every part of the server does it here, so that no two
 * of them read one path in two ways.
 */
import { getPath } from 'hono/utils/url'

/** Of our extension: a proxy that guards one of them by its name guards it in every case. */
const OWN_ROUTE = /^\/hilo\/(checkin|explain|series)(\/|$)/

/**
 * RavenDB finds its routes in any case, but for the first letter. The database's name keeps its own
 * case, and routes that RavenDB has not are found as they are written.
 */
export function routeOf(request: Request): string {
  const path = getPath(request)
  const [, root, name, rest] = /^\/([a-z][^/]*)(?:\/([^/]*)(.*))?$/s.exec(path) ?? []
  if (root === undefined) return path
  if (name === undefined) return /^topology$/i.test(root) ? '/topology' : path
  const lower = rest!.toLowerCase()
  return OWN_ROUTE.test(lower) ? path : `/${root.toLowerCase()}/${name}${lower}`
}

/** The name in `/databases/<name>/…`. Undefined where there is none, or it cannot be decoded. */
export function databaseIn(request: Request): string | undefined {
  const name = /^\/databases\/([^/]+)\//.exec(routeOf(request))?.[1]
  try {
    return name && decodeURIComponent(name)
  } catch {
    return undefined
  }
}
