import{a,b}from"./chunk-76ZMD7QR.js";import"./chunk-FI66AMH3.js";import"./chunk-SQE76S5B.js";export{b as GetStarted,a as default};
