/**
 * A structured clone of plain data, which is all that the package stores and sends; anything else
 * is refused as in a browser.
 */
export function copyData<T>(value: T, copyOther: (value: object) => unknown = refuse): T {
  if (typeof value === 'function' || typeof value === 'symbol') return refuse(value) as T
  if (typeof value !== 'object' || value === null) return value
  if (Array.isArray(value)) return value.map((item) => copyData(item, copyOther)) as T
  if (Object.getPrototypeOf(value) !== Object.prototype) return copyOther(value) as T
  const result: Record<string, unknown> = {}
  for (const key of Object.keys(value))
    result[key] = copyData((value as Record<string, unknown>)[key], copyOther)
  return result as T
}

function refuse(value: unknown): never {
  throw new DOMException(`${String(value)} could not be cloned.`, 'DataCloneError')
}
