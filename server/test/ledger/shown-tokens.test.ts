/** What becomes of tokens in one step, however many requests show them. */
import { expect, test } from 'vitest'
import { newProgress, readShown, showTokens } from '../../src/ledger/shown-tokens.js'
import { collectionOf, grantId, grantOf, ORDERS, rowsOf, TOKENS } from './steps.js'

test('the numbers of a copied grant leave their line once, whoever shows its token again', () => {
  const copied = grantOf({ low: 5, high: 24, firstHigh: 24, tokenVersion: 1 })
  const rows = rowsOf({
    grants: [copied],
    collections: [collectionOf({ max: 64, highWater: 64, free: [[20, 40]] })],
  })
  const old = { token: TOKENS.write({ ...copied, tokenVersion: 0 }), next: 1 }
  const progress = newProgress()
  const show = (id: string) => {
    const shown = readShown([old, old], 'shop', TOKENS)
    return showTokens(rows, progress, { database: 'shop', id, at: 7, shown }, TOKENS).results
  }
  expect(show('a')).toEqual(['superseded', 'superseded'])
  const [after] = progress.lines.values()
  expect(after).toMatchObject({ line: { free: [[25, 40]], max: 64 }, forgotten: 24 })
  expect(show('b')).toEqual(['superseded', 'superseded'])
  expect([...progress.lines.values()][0]).toBe(after)
})

test.each([
  ['no number that the other has not told of', 37, 1],
  ['one number more than the other has told of', 38, 2],
])('of a copy that has used %s, the other keeps its token or not', (_, next, tokenVersion) => {
  const copied = grantOf({ low: 33, high: 64, firstHigh: 64, issued: 36, tokenVersion: 1 })
  const rows = rowsOf({ grants: [copied], collections: [collectionOf({ max: 64 })] })
  const old = { token: TOKENS.write({ ...copied, tokenVersion: 0 }), next }
  const shown = readShown([old], 'shop', TOKENS)
  const showing = { database: 'shop', id: 'a', at: 7, shown }
  const { grants } = showTokens(rows, newProgress(), showing, TOKENS)
  expect(grants.get(copied.id)).toMatchObject({ issued: 64, tokenVersion })
})

test('of a copy no token of a forgotten grant is replaced either', () => {
  const copied = grantOf({ tokenVersion: 1 })
  const [id, high, tokenVersion] = [grantId(7), 64, 0]
  const tombstone = { id, ...ORDERS, high, serial: 2, tokenVersion, checkIn: null }
  const rows = rowsOf({ grants: [copied], tombstones: [tombstone] })
  const shownBy = (...tokens: string[]) => {
    const grants = tokens.map((token) => ({ token, next: 33 }))
    const shown = readShown(grants, 'shop', TOKENS)
    const showing = { database: 'shop', id: 'a', at: 7, shown }
    return showTokens(rows, newProgress(), showing, TOKENS).results
  }
  const forgotten = TOKENS.write(tombstone)
  expect(shownBy(forgotten)).toMatchObject([{ high: 64 }])
  const old = TOKENS.write({ ...copied, tokenVersion: 0 })
  expect(shownBy(old, forgotten)).toEqual(['superseded', 'superseded'])
})
