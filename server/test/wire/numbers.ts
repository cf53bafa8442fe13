/** Numbers as they might stand in a query. */

const NUMBERS = [
  '',
  '%20',
  'x',
  '+64',
  '%2B64',
  '%2064',
  '64%20',
  '%2064%20',
  '%0964',
  '- 64',
  '--64',
  '064',
  '64.0',
  '64.5',
  '64,0',
  '1,000',
  '1_000',
  '6e1',
  '0x40',
  '%D9%A6%D9%A4',
  '(64)',
  '64L',
  'NaN',
  'Infinity',
  'null',
  '64%00',
  '-0',
  '9223372036854775808',
  '-9223372036854775809',
  '99999999999999999999999',
  '64&NAME=65',
  '64&NAME=x',
  'x&NAME=64',
]

/** @param rest of the request, before the parameter */
export const numbers = (name: string, rest: string): string[] =>
  NUMBERS.map((number) => `${rest}&${name}=${number.replace('NAME', name)}`)
