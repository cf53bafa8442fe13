/**
 * Makes elements without a library: {@link h} and {@link button}. {@link update} and {@link say}
 * change only the parts that differ.
 */

type Attributes = Record<string, string | boolean | ((event: Event) => void)>

/**
 * An element: `h('p.hint', { hidden: true }, 'text')`. Attributes that are functions are listeners.
 * Text never becomes markup.
 * @param tag with a class after a dot, if it has one
 */
export function h<K extends keyof HTMLElementTagNameMap>(
  tag: K | `${K}.${string}`,
  ...parts: (Attributes | Node | string)[]
): HTMLElementTagNameMap[K] {
  const [name, className = ''] = tag.split('.') as [K, string?]
  const element = document.createElement(name)
  element.className = className
  for (const part of parts) {
    if (typeof part === 'string' || part instanceof Node) element.append(part)
    else
      for (const [key, value] of Object.entries(part))
        typeof value === 'function'
          ? element.addEventListener(key, value)
          : set(element, key, value)
  }
  return element
}

/** A button. It has a label if its text alone would not explain it. */
export const button = (text: string, press: () => void, label?: string): HTMLButtonElement =>
  h('button', { type: 'button', click: press, ...(label && { 'aria-label': label }) }, text)

/** Sets the attributes that differ, so that screen readers announce only changes. */
export function update(element: Element, attributes: Record<string, string | boolean>): void {
  for (const [name, value] of Object.entries(attributes))
    if (element.getAttribute(name) !== value) set(element, name, value)
}

/** Sets the text, if it differs. */
export function say(element: Element, text: string): void {
  if (element.textContent !== text) element.textContent = text
}

function set(element: Element, name: string, value: string | boolean): void {
  if (typeof value === 'string') element.setAttribute(name, value)
  else element.toggleAttribute(name, value)
}
