/** Second of two halves around an import: the real `FinalizationRegistry` is back. */
import { RealFinalizationRegistry } from './finalizers-off.js'

globalThis.FinalizationRegistry = RealFinalizationRegistry
