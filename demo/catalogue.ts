/** What the desk sells, and who might buy it. */
export interface Product {
  item: string
  /** Price of one. */
  cents: number
}

export const CATALOGUE: readonly Product[] = [
  { item: 'House blend, 1 kg', cents: 18_50 },
  { item: 'Decaf, 500 g', cents: 11_20 },
  { item: 'Single origin, 250 g', cents: 9_80 },
  { item: 'Oat drink, case of 6', cents: 14_40 },
  { item: 'Paper cups, 500', cents: 32_00 },
  { item: 'Filter papers, 100', cents: 4_60 },
  { item: 'Grinder service', cents: 75_00 },
]

export const SAMPLE_CUSTOMERS: readonly string[] = [
  'Harbour Café',
  'North Market',
  'Station Kiosk',
  'Museum Shop',
  'Garden Bistro',
]
