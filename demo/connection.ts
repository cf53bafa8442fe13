/**
 * Is the desk online? Two things decide: the desk's own switch, which all tabs share and which
 * survives a reload, and what the browser says of its network. When either says no, trying is no
 * use. When both say yes, the server may still not answer.
 */
const SWITCH_KEY = 'order-desk:offline'

export class Connection extends EventTarget {
  #isSwitchedOn = localStorage.getItem(SWITCH_KEY) === null

  constructor() {
    super()
    const changed = () => this.dispatchEvent(new Event('change'))
    addEventListener('online', changed)
    addEventListener('offline', changed)
    addEventListener('storage', ({ key, newValue }) => {
      if (key !== SWITCH_KEY) return
      this.#isSwitchedOn = newValue === null
      changed()
    })
  }

  get isSwitchedOn(): boolean {
    return this.#isSwitchedOn
  }

  get isOnline(): boolean {
    return this.#isSwitchedOn && navigator.onLine
  }

  switch(on: boolean): void {
    this.#isSwitchedOn = on
    if (on) localStorage.removeItem(SWITCH_KEY)
    else localStorage.setItem(SWITCH_KEY, '1')
    this.dispatchEvent(new Event('change'))
  }
}
