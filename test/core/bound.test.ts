/** Methods that are taken off their object, whose parent may come from another realm. */
import { runInNewContext } from 'node:vm'
import { expect, test } from 'vitest'
import { bindMethods } from '../../src/core/bound.js'

const ofAnotherRealm = runInNewContext('(class { parent() { return this } })')

class OfThisRealm {
  parent(): this {
    return this
  }
}

test.each([
  ['of this realm', OfThisRealm],
  ['of another one', ofAnotherRealm as typeof OfThisRealm],
])('methods, also of a parent %s, work when taken off', (_, Parent) => {
  class Child extends Parent {
    child() {
      return this
    }
  }
  const object = new Child()
  bindMethods(object)
  const { child, parent } = object
  expect([child(), parent()]).toEqual([object, object])
  expect(object.constructor).toBe(Child)
  expect(Object.hasOwn(object, 'toString')).toBe(false)
})
