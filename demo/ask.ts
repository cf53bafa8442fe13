/**
 * Asks the desk's server for a little JSON. Always resolves: with undefined when no complete answer
 * comes. Its callers ask again anyway.
 */
export async function ask<T>(path: string, method = 'GET'): Promise<T | undefined> {
  try {
    const response = await fetch(path, { method, cache: 'no-store' })
    return response.ok ? await response.json() : undefined
  } catch {
    return undefined
  }
}
