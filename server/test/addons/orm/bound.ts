/** Bindings for tests. */

import { type Binding, toBinding } from '../../../src/addons/bound/orm/counter-binding.js'
import {
  type CounterOptions,
  counterSettings,
} from '../../../src/addons/bound/orm/counter-options.js'

export function bindingOf(
  settings: Omit<CounterOptions, 'maxId' | 'ids'> & Partial<Pick<CounterOptions, 'maxId' | 'ids'>>,
): Binding {
  const binding = toBinding(
    { database: 'Shop', collection: 'orders' },
    counterSettings.parse({ maxId: 'int8', ids: false, ...settings }),
  )
  if (Array.isArray(binding))
    throw new Error(binding.map((problem) => problem.join(' ')).join('\n'))
  return binding
}
