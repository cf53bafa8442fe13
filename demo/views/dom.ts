/** Small helpers for writing DOM by hand. */

/** An element that the page has. */
export function must<E extends Element = HTMLElement>(
  selector: string,
  within: ParentNode = document,
): E {
  const found = within.querySelector<E>(selector)
  if (!found) throw new Error(`The page has no ${selector}`)
  return found
}

type Child = Node | string | undefined

export function el<K extends keyof HTMLElementTagNameMap>(
  tag: K,
  attributes: Record<string, string>,
  ...children: Child[]
): HTMLElementTagNameMap[K] {
  const element = document.createElement(tag)
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value)
  element.append(...children.filter((child) => child !== undefined))
  return element
}

/** An icon from index.html. Words always stand beside it. */
export function icon(name: string): SVGSVGElement {
  const svg = document.createElementNS('http://www.w3.org/2000/svg', 'svg')
  svg.setAttribute('class', 'icon')
  svg.setAttribute('aria-hidden', 'true')
  const use = document.createElementNS('http://www.w3.org/2000/svg', 'use')
  use.setAttribute('href', `#icon-${name}`)
  svg.append(use)
  return svg
}

/** An id that shows its number in bold: `orders/` **33** `-A`. Its text is the whole id. */
export function idText(id: string): HTMLElement {
  const [, before = '', number = id, after = ''] = /^(.*\D)(\d+)(\D*)$/.exec(id) ?? []
  return el(
    'code',
    { class: 'id' },
    el('span', {}, before),
    el('b', {}, number),
    el('span', {}, after),
  )
}

/** Writes text only when it differs, so that screen readers announce only changes. */
export function setText(element: Element, text: string): void {
  if (element.textContent !== text) element.textContent = text
}

export const plural = (count: number, one: string, many = `${one}s`): string =>
  `${count.toLocaleString('en')} ${count === 1 ? one : many}`

export const money = (cents: number): string =>
  (cents / 100).toLocaleString('en', { style: 'currency', currency: 'EUR' })
