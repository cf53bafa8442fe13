/** Methods that an app may take off their object: `const { nextId } = hilo`. */

/** Binds all methods of `object`, those of its parents too. */
export function bindMethods(object: object): void {
  const parent = (of: object): object | null => Object.getPrototypeOf(of)
  // Above all parents is the `Object.prototype` of some realm: in jsdom, not of this one.
  for (let from = object, next = parent(from); next; from = next, next = parent(from))
    for (const name of Reflect.ownKeys(from)) {
      const { value } = Object.getOwnPropertyDescriptor(from, name)!
      if (typeof value === 'function' && name !== 'constructor' && !Object.hasOwn(object, name))
        Object.defineProperty(object, name, {
          value: value.bind(object),
          configurable: true,
          writable: true,
        })
    }
}
