/** Methods that an app may take off their object: `const { nextId } = hilo`. */

/** Binds all methods of `object`, those of its parents too. */
export function bindMethods(object: object): void {
  for (let from = object; from !== Object.prototype; from = Object.getPrototypeOf(from))
    for (const [name, { value }] of Object.entries(Object.getOwnPropertyDescriptors(from)))
      if (typeof value === 'function' && !Object.hasOwn(object, name))
        Object.defineProperty(object, name, {
          value: value.bind(object),
          configurable: true,
          writable: true,
        })
}
