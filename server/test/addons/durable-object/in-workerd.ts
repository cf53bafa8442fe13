/** In the project `unit-workerd`, handlers are in workerd. */
import { makeHandlersBy } from '../../handlers.js'
import { handlerInWorkerd } from './handler.js'

makeHandlersBy(handlerInWorkerd)
