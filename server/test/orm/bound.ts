/** Bindings for tests. */
import {
  type Binding,
  type CounterOptions,
  counterSettings,
  toBinding,
} from '../../src/bound/orm/counter-options.js'

export function bindingOf(
  settings: Omit<CounterOptions, 'maxId'> & Partial<Pick<CounterOptions, 'maxId'>>,
): Binding {
  const binding = toBinding(counterSettings.parse({ maxId: 'int8', ...settings }))
  if (Array.isArray(binding))
    throw new Error(binding.map((problem) => problem.join(' ')).join('\n'))
  return binding
}
