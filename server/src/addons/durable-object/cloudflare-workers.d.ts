/** The module that workerd has built in. */
declare module 'cloudflare:workers' {
  export class DurableObject<Env> {
    protected ctx: import('./cloudflare.js').ObjectState
    protected env: Env
    constructor(ctx: import('./cloudflare.js').ObjectState, env: Env)
  }
}
