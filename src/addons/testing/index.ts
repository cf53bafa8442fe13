/**
 * `offline-hilo/testing`: a `Hilo` for the app's own tests. It exports `createHilo` and `HiloError`
 * under the names of the main entry, too, so that a test can put it in the place of `offline-hilo`.
 */
export { HiloError } from '../../core/errors.js'
export {
  createTestHilo,
  createTestHilo as createHilo,
  type TestHilo,
  type TestSwitches,
} from './test-hilo.js'
