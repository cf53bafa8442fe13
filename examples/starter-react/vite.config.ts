import react from '@vitejs/plugin-react'
import { defineConfig } from 'vite'
import { VitePWA } from 'vite-plugin-pwa'

// The server sees the name under which the page is open.
const server = { target: 'http://127.0.0.1:8080', changeOrigin: false }

const workbox = {
  globPatterns: ['**/*.{html,js,css,svg}'],
  // Nobody who opens an address of the server wants the page.
  navigateFallbackDenylist: [/^\/(api|databases)\//],
}

export default defineConfig({
  plugins: [react(), VitePWA({ workbox })],
  server: { proxy: { '/databases': server, '/api': server } },
})
