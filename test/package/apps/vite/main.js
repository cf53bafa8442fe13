import '../app/main.js'
