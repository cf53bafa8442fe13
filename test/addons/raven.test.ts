/** RavenDB's names of collections, and the prefixes that its clients make of them. */
import { expect, test } from 'vitest'
import { findCollectionName, transformCollectionName } from '../../src/addons/raven.js'

test.each([
  ['Order', class Order {}],
  ['OrderLine', class OrderLine {}],
  ['Category', class Category {}],
])('the class %s is named by its plural', (name, entity) => {
  expect(findCollectionName(entity)).toBe(
    { Order: 'Orders', OrderLine: 'OrderLines', Category: 'Categories' }[name],
  )
})

test.each([
  ['orders', 'orders'],
  ['Orders', 'orders'],
  ['OrderLines', 'OrderLines'],
  ['ÄrzteÖffnungen', 'ÄrzteÖffnungen'],
])('%s becomes the prefix %s', (name, prefix) => {
  expect(transformCollectionName(name)).toBe(prefix)
})
