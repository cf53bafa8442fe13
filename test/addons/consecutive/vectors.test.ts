/** Published chains and check digits of several countries, made by the chains of the examples. */
import { createHmac } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { rksv } from '../../../examples/chains/austria.js'
import { saudiArabia } from '../../../examples/chains/saudi-arabia.js'
import { veriFactu } from '../../../examples/chains/spain.js'
import { brazil, crc8, ecuador } from '../../../examples/check-digits.js'
import { type Chain, type ChainOptions, chain } from '../../../src/addons/consecutive/chain.js'
import type { Draft } from '../../../src/addons/consecutive/links.js'
import type { Link } from '../../../src/device/series-store.js'

const LONG = JSON.parse(readFileSync(new URL('vectors.json', import.meta.url), 'utf8'))

const made = (of: Chain, content: unknown, before?: Link, rest: Partial<Draft['record']> = {}) =>
  of.linkOf({
    chain: '',
    record: { kind: 'number', content, id: 'B-000124', ...rest },
    before,
    expected: undefined,
    now: new Date(),
    date: new Date(),
    timeZone: undefined,
  })

/** A chain whose text is the content alone. */
const of = (options: Partial<ChainOptions<string>> = {}) =>
  chain<string>({ text: ({ content }) => content, ...options })

const hashOf = async (content: string, options?: Partial<ChainOptions<string>>) =>
  (await made(of(options), content)).hash

describe('Spain', () => {
  const invoice = {
    issuer: '89890001K',
    date: '01-01-2024',
    type: 'F1',
    tax: '12.35',
    total: '123.45',
  }
  const first = { ...invoice, number: '12345678/G33', at: '2024-01-01T19:20:30+01:00' }
  const V1 = '3C464DAF61ACB827C65FDA19F352A4E3BDC2C640E9E9FC4CC058073F38F12F60'

  test('V1 to V3: an invoice, the next one, and its cancellation', async () => {
    const one = await made(veriFactu, first)
    expect([one.hash, one.previous]).toEqual([V1, ''])
    const next = { ...invoice, number: '12345679/G34', at: '2024-01-01T19:20:35+01:00' }
    const two = await made(veriFactu, next, one)
    expect(two.hash).toBe('F7B94CFD8924EDFF273501B01EE5153E4CE8F259766F88CF6ACB8935802A2B97')
    const three = await made(
      veriFactu,
      {
        issuer: '89890001K',
        number: next.number,
        date: next.date,
        at: '2024-01-01T19:20:40+01:00',
      },
      two,
      { kind: 'cancellation' },
    )
    expect(three.hash).toBe('177547C0D57AC74748561D054A9CEC14B4C4EA23D1BEFD6F2E69E3A388F90C68')
  })

  test('V4: an amount is hashed as it is written', async () => {
    const before = {
      hash: '8C8DCEFB120522E0C71BC19902F44D5334FF6C98E74F0E3AC1D1E5A30C2EA836',
      at: 2,
    } as Link
    const hashes = ['21.4', '21.40'].map(async (tax) => {
      const content = {
        issuer: 'B72877814',
        number: 'GITHUB-EJ-003',
        date: '04-11-2024',
        type: 'F1',
        tax,
        total: tax.replace('21', '131'),
        at: '2024-11-04T12:36:39+01:00',
      }
      return (await made(veriFactu, content, { ...before, text: '', time: '' } as Link)).hash
    })
    expect(await Promise.all(hashes)).toEqual([
      '4EECCE4DD48C0539665385D61D451BA921B7160CA6FEF46CD3C2E2BC5C778E14',
      'ED8809FBF28AA875735D01172C0A264422E34285C50D7201F68E9CC4EB8F006C',
    ])
  })

  test.each([
    [
      'V5: an event',
      LONG.spanishEvent,
      '78765283F55C68FB9EC73DED9D254FBE5B36550C7930F6B3FE7032BA030A4498',
    ],
    ['V6: a line end', 'V1\n', '31AED1A12718F6A86C9C4BB24AF6B6E138D880DE843FB4EA818C03EBB17638AA'],
    ['V6: a mark', '\ufeffV1', '36126C35730593DB2EEDC3331CFD461937889DFC5B912EB07F35B99CE384C4F2'],
  ])('%s', async (_, text, hash) => {
    const { text: v1 } = await made(veriFactu, first)
    expect(await hashOf(text.replace('V1', v1), { encoding: 'HEX' })).toBe(hash)
  })
})

describe('Saudi Arabia', () => {
  test('V7: the first link is a constant; later ones are of 32 bytes', async () => {
    expect(await hashOf('0')).toBe(
      '5feceb66ffc86f38d952786c6d696c79c2dbc239dd4e91b46729d73a27fb57e9',
    )
    expect(await hashOf('0', { encoding: 'base64' })).toBe(
      'X+zrZv/IbzjZUnhsbWlsecLbwjndTpG0ZynXOif7V+k=',
    )
    const one = await made(saudiArabia, { xml: '<a>PREVIOUS</a>' })
    expect(one.text).toBe(LONG.saudiFirst)
    const two = await made(saudiArabia, { xml: '<b>PREVIOUS</b>' }, one)
    expect([two.text, two.previous.length]).toEqual([`<b>${one.hash}</b>`, 44])
  })

  test('V8: base64 of the bytes', async () => {
    const digest = (hex: string) => Uint8Array.from(hex.match(/../g)!, (byte) => parseInt(byte, 16))
    const hex = 'a11b6fe587a50f7daffe3a7fb42dcccf32b43ee9b37d9f252d04243e54c11a3f'
    expect(await hashOf(hex, { digest, encoding: 'base64' })).toBe(
      'oRtv5YelD32v/jp/tC3MzzK0PumzfZ8lLQQkPlTBGj8=',
    )
    expect(await hashOf(hex, { digest, encoding: 'base64url' })).toBe(
      'oRtv5YelD32v_jp_tC3MzzK0PumzfZ8lLQQkPlTBGj8',
    )
  })
})

describe('Austria', () => {
  test.each([
    ['A12347', 'OeSKQjO4zKI='],
    ['DEMO-CASH-BOX524', 'lDUkNhEeJKY='],
  ])('V9: the first receipt of %s', async (register, previous) => {
    const link = await made(
      rksv(register, (line) => line),
      { line: 'PREVIOUS' },
    )
    expect([link.previous, link.text]).toEqual([previous, previous])
  })

  test('V10: the link of a signed receipt', async () => {
    const jws = LONG.austrianReceipt
    const register = rksv('DEMO-CASH-BOX524', () => jws)
    const one = await made(register, { line: 'PREVIOUS' })
    expect(one.hash).toBe('5HjRCx+XIz4=')
    const two = await made(register, { line: 'PREVIOUS' }, one)
    expect(two.previous).toBe('5HjRCx+XIz4=')
  })
})

test.each([
  ['V11, CUFE', LONG.cufe, LONG.cufeHash],
  [
    'V12, CUDE',
    '81100078712019-01-1207:00:00-05:005000.0001950.00040.00030.005950.009003730768355990123011',
    LONG.cudeHash,
  ],
  [
    'V13, which the annex prints wrongly',
    'ND10012019-01-1810:58:00-05:0030000.00010.00042400.00030.0032400.0090019726410254102102012',
    LONG.debitNoteHash,
  ],
])('Colombia, %s: SHA-384', async (_, text, hash) => {
  expect(await hashOf(text, { digest: 'SHA-384' })).toBe(hash)
})

test('Norway, V17: a digest with a key', async () => {
  const digest = (text: string) => createHmac('sha1', 'SkatteetatenSign').update(text).digest()
  const signed = chain<string>({
    text: ({ content }, previous) => `${previous};${content}`,
    digest,
    encoding: 'base64',
    initial: '0',
  })
  expect((await made(signed, '2016-11-24;10:39:00;2;1.00;0.96')).hash).toBe(
    'iHh68DWCU3G42eL/7vOGUMSkvMM=',
  )
})

test.each([
  ['V14, Brazil', brazil, '5206043300991100250655012000000780026730161', 5],
  ['V14, Brazil', brazil, '4317120736461700013555000000012014100012014', 6],
  ['V14, Brazil', brazil, '1318101792142700012565001000000030988725117', 0],
  ['V15, Ecuador', ecuador, '181120230117900169190012072126000254002071101351', 0],
  ['V15, Ecuador', ecuador, '031220220101900720020012002902000487498576629721', 6],
  ['V16, TicketBAI', crc8, 'TBAI-00000006Y-251019-btFpwP8dcLGAF-', 237],
  [
    'V16, TicketBAI',
    crc8,
    'https://batuz.eus/QRTBAI/?id=TBAI-00000006Y-251019-btFpwP8dcLGAF-237&s=T&nf=27174&i=4.70',
    7,
  ],
  ['V16, KSeF', crc8, '5265877635-20250826-0100001AF629', 0xaf],
])('%s has its check digit', (_, checkDigit, key, digit) => {
  expect(checkDigit(key)).toBe(digit)
})
