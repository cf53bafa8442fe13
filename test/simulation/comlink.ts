/**
 * Loads Comlink without its finalizers: what the garbage collector finds, and when, would make two
 * runs of one seed differ. Has to be imported before anything that imports Comlink.
 */
import './finalizers-off.js'
import 'comlink'
import './finalizers-on.js'
