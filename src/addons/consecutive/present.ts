/** What is not there is not stored, and not written into a text that is hashed. */

/** @returns the fields that have a value */
export const present = <T extends object>(of: T) =>
  Object.fromEntries(Object.entries(of).filter(([, value]) => value !== undefined)) as {
    [Field in keyof T]?: Exclude<T[Field], undefined>
  }
